"""A gate for continuous integration: what fails, what passes with a warning, SARIF, annotations, and the example workflow's steps."""
import json
import os
import re
import subprocess

import jsonschema

from harness import ROOT, check, expect, line_of, one_line, tail

WORKFLOW = ROOT / "examples/ci/homenode.yml"

# Four threads count, each its own words: of one cache line, or of a line each.
COUNTERS = """
#include <pthread.h>
#include <stdio.h>

struct counter { volatile long n; } ALIGNED;
static struct counter counters[4];  /* the array */

static void *work(void *mine) {
    struct counter *c = mine;
    for (int i = 0; i < 20000; i++) c->n++;  /* the use */
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &counters[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld\\n", counters[0].n + counters[1].n + counters[2].n + counters[3].n);
    return 0;
}
"""


def repository(session, name, padded):
    """A folder with the program in it, falsely sharing or not."""
    folder = session.path(name)
    (folder / "ci").mkdir(parents=True)
    (folder / "counters.c").write_text(COUNTERS.replace("ALIGNED", "__attribute__((aligned(128)))" if padded else ""))
    return folder


def recorded(session, padded):
    """The program's folder and its recording."""
    def make():
        folder = repository(session, "clean" if padded else "shared", padded)
        built = subprocess.run([session.homenode, "cc", "-O2", "-g", "-pthread", "counters.c", "-o", "counters"], cwd=folder, capture_output=True, text=True)
        expect(built.returncode == 0, tail(built.stderr))
        session.run("record", "-o", "counters.hnt", "--", "./counters", cwd=folder)
        return folder
    return session.once(("counters", padded), make)


def report(session, folder, *arguments, **options):
    return session.run("report", "counters.hnt", *arguments, cwd=folder, **options)


@check
def a_limit_fails_and_passes(session):
    """Status 1 and one line where false sharing costs more than the limit; 0 for the clean twin, and for a higher limit."""
    shared, clean = recorded(session, False), recorded(session, True)
    failed = report(session, shared, "--fail-above", "5%", "-q", status=1)
    said = [line for line in failed.stderr.splitlines() if "warning: " not in line]
    expect(len(said) == 1 and "--fail-above 5%: " in said[0] and "can be saved" in said[0] and "counters" in said[0], failed.stderr)
    expect("false" in failed.stdout, "the report is printed all the same")
    passed = report(session, clean, "--fail-above", "5")
    expect("can be saved" not in passed.stderr, passed.stderr)
    document = json.loads(report(session, shared, "--json").stdout)
    saves = max(f["saving_share"] for f in document["evaluations"][0]["findings"])
    expect(0.05 < saves < 1, f"the limit can be above what is saved: {saves}")
    report(session, shared, "--fail-above", "100")
    quick = report(session, shared, "--quick", "--fail-above", "5", status={0, 1})
    print(f"  {said[0]}\n  quick: status {quick.returncode}: {tail(quick.stderr, 1)}")


@check
def a_baseline_fails_only_what_became_worse(session):
    """The shared program passes beside itself, and fails beside its clean twin; the other way round it passes."""
    shared, clean = recorded(session, False), recorded(session, True)
    baselines = {}
    for folder in (shared, clean):
        baselines[folder] = folder / "ci" / "old.json"
        report(session, folder, "-o", baselines[folder], "--force")
    report(session, shared, "--baseline", baselines[shared])
    report(session, clean, "--baseline", baselines[shared], "--fail-above", "1")
    failed = report(session, shared, "--baseline", baselines[clean], "--fail-above", "5", status=1)
    expect("than the baseline: memory cost" in failed.stderr and "cache-to-cache" in failed.stderr, failed.stderr)
    print(f"  {tail(failed.stderr, 1)}")


@check
def other_baselines_are_refused(session):
    """Another machine, block size, policy list, version, no document, no file: one line, status 3."""
    folder = recorded(session, True)
    old = folder / "ci" / "refused.json"
    for arguments, why in (
        (("--machine", "genoa"), "machine is 'genoa'"),
        (("--block", "65536"), "block size is '64 KiB'"),
        (("--policy", "first-touch"), "list of policies"),
        (("--order", "recorded"), "order is"),
        (("--quick",), "schema is"),
    ):
        old.write_text(report(session, folder, *arguments, "--json").stdout)
        refused = report(session, folder, "--baseline", old, "-q", status=3)
        expect(why in one_line(refused), refused.stderr)
    for text, why in (("{}", "missing field"), ("", "no document"), ('{"schema":"https://github.com/homenode/homenode/schema/report-9"}', "report-9")):
        old.write_text(text)
        expect(why in one_line(report(session, folder, "--baseline", old, status=3)), text)
    old.unlink()
    expect("No such file" in one_line(report(session, folder, "--baseline", old, status=3)), "there is none")


@check
def what_cannot_be_told_is_said(session):
    """A recording that stopped early passes with a warning, also with --quiet; the whole one without."""
    folder = recorded(session, True)
    session.run("record", "-o", "part.hnt", "--force", "--limit-refs", "1K", "--", "./counters", cwd=folder)
    done = session.run("report", "part.hnt", "-q", "--fail-above", "99", cwd=folder)
    expect(re.match(r"homenode: warning: --fail-above 99%: passes as far as was seen\. ", done.stderr), done.stderr)
    print(f"  {tail(done.stderr)}")


def text(**more):
    return {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}, "additionalProperties": False, **more}


def closed(required, **properties):
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


# The part of SARIF 2.1.0 that is written, by hand after the standard: property names, types and what is required there, and nothing else allowed.
LEVEL = {"enum": ["none", "note", "warning", "error"]}
LOCATION = closed(["physicalLocation"], physicalLocation=closed(
    ["artifactLocation", "region"],
    artifactLocation=closed(["uri"], uri={"type": "string", "pattern": "^[A-Za-z0-9._~/%:-]+$"}, uriBaseId={"const": "%SRCROOT%"}),
    region=closed(["startLine"], startLine={"type": "integer", "minimum": 1})))
RESULT = closed(
    ["ruleId", "message", "locations"], ruleId={"type": "string"}, ruleIndex={"type": "integer", "minimum": -1}, level=LEVEL, message=text(),
    rank={"type": "number", "minimum": 0, "maximum": 100}, locations={"type": "array", "items": LOCATION, "minItems": 1},
    relatedLocations={"type": "array", "items": LOCATION, "uniqueItems": True},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}})
RULE = closed(["id"], id={"type": "string"}, shortDescription=text(), defaultConfiguration=closed([], level=LEVEL))
DRIVER = closed(["name"], name={"type": "string"}, version={"type": "string"}, informationUri={"type": "string", "format": "uri"},
                rules={"type": "array", "items": RULE, "uniqueItems": True})
INVOCATION = closed(["executionSuccessful"], executionSuccessful={"type": "boolean"}, toolExecutionNotifications={
    "type": "array", "items": closed(["message"], message=text(), level=LEVEL)})
RUN = closed(["tool"], tool=closed(["driver"], driver=DRIVER), columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
             invocations={"type": "array", "items": INVOCATION}, results={"type": "array", "items": RESULT})
SARIF = closed(["version", "runs"], **{"$schema": {"type": "string", "format": "uri"}}, version={"const": "2.1.0"}, runs={"type": "array", "items": RUN, "minItems": 1})


@check
def sarif_and_annotations_name_the_line(session):
    """A valid log whose result is at the line that counts, relative to the root of the sources; annotations likewise."""
    folder = recorded(session, False)
    done = report(session, folder, "--sarif", "x.sarif", "--github", "--force")
    log = json.loads((folder / "x.sarif").read_text())
    problems = [f"{e.json_path}: {e.message[:200]}" for e in jsonschema.Draft202012Validator(SARIF).iter_errors(log)]
    expect(not problems, "; ".join(problems))
    result = log["runs"][0]["results"][0]
    lines = {line_of(folder / "counters.c", "the array"), line_of(folder / "counters.c", "the use")}
    place = result["locations"][0]["physicalLocation"]
    expect(result["ruleId"] == "false-sharing" and place["artifactLocation"] == {"uri": "counters.c", "uriBaseId": "%SRCROOT%"}, f"{result}")
    expect(place["region"]["startLine"] in lines, f"{place} is one of {lines}")
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::")]
    expect(len(annotations) == len(log["runs"][0]["results"]), f"an annotation each: {annotations}")
    expect(annotations[0].startswith(f"::warning file=counters.c,line={place['region']['startLine']},title=False sharing%3A"), annotations[0])
    above = report(session, folder, "--sarif", "y.sarif", "--source-root", "..", "--force")
    uri = json.loads((folder / "y.sarif").read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    expect(uri == f"{folder.name}/counters.c" and above.returncode == 0, uri)
    for damage in ({"version": "2.0.0"}, {"runs": []}, {"more": 1}):
        expect(list(jsonschema.Draft202012Validator(SARIF).iter_errors({**log, **damage})), f"{damage} is noticed")
    report(session, folder, "--source-root", "..", status=2)
    print(f"  {annotations[0][:160]}")


def steps():
    """The steps of the workflow that run something: name, condition, script."""
    found = []
    for part in WORKFLOW.read_text().split("\n      - ")[1:]:
        fields = re.match(r"(?:name: (?P<name>.*)\n)?(?:\s+if: (?P<condition>.*)\n)?", part)
        run = re.search(r"^\s*run: (?P<run>\|\n(?:          .*\n?)+|.*)", part, re.MULTILINE)
        if run:
            script = re.sub(r"^          ", "", run["run"].removeprefix("|\n"), flags=re.MULTILINE)
            found.append((fields["name"], fields["condition"], script))
    return found


def job(session, folder):
    """Runs the steps in a folder as a job does, until one fails; returns the step that failed, if one did, and all that was said."""
    bin_folder = session.path("bin-ci")
    bin_folder.mkdir()
    (bin_folder / "homenode").symlink_to(session.homenode)
    said = ""
    for name, condition, script in steps():
        if name == "Install homenode":
            continue  # the one under test stands for it
        files = re.fullmatch(r"hashFiles\('(.*)'\) != ''", condition or "")
        expect(condition is None or files, f"a condition that is understood: {condition}")
        if files and not list(folder.glob(files[1])):
            continue
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"})
        said += done.stdout + done.stderr
        if done.returncode:
            return name, said
    return None, said


@check
def the_example_workflow_runs(session):
    """Its steps pass in the clean repository and fail in the other; beside a clean baseline the step for that fails."""
    expect([name for name, _, _ in steps()] == ["Install homenode", "Build with the hooks", "Record", "Gate", "No worse than the baseline"], f"{steps()}")
    clean, shared = repository(session, "ci-clean", True), repository(session, "ci-shared", False)
    failed, said = job(session, clean)
    expect(failed is None and "::error" not in said, f"the clean one fails at {failed}: {tail(said)}")
    expect((clean / "homenode.sarif").exists() and (clean / "homenode.html").exists(), "both files are there for the steps after")
    failed, said = job(session, shared)
    expect(failed == "Gate" and "::error title=homenode::--fail-above" in said and "::warning file=counters.c,line=" in said, f"{failed}: {tail(said)}")
    # The step for the baseline alone, which the gate keeps from being reached: beside itself, then beside the clean twin.
    (shared / "ci/baseline.json").write_text(session.run("report", "counters.hnt", "--json", cwd=shared).stdout)
    script = next(script for name, _, script in steps() if name == "No worse than the baseline")
    environment = {**os.environ, "PATH": f"{session.folder / 'bin-ci'}:{os.environ['PATH']}"}

    def run():
        return subprocess.run(["bash", "-e", "-c", script], cwd=shared, capture_output=True, text=True, env=environment)

    expect(run().returncode == 0, "beside itself")
    (shared / "ci/baseline.json").write_text(session.run("report", "counters.hnt", "--json", cwd=clean).stdout)
    worse = run()
    expect(worse.returncode == 1 and "than the baseline" in worse.stderr, worse.stderr)
    (clean / "ci/baseline.json").write_text((shared / "ci/baseline.json").read_text())
    expect(job(session, clean)[0] is None, "beside a report of the same program")
    print(f"  {tail(worse.stderr, 1)}")
