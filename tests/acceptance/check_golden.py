"""The promise of docs/json.md: documents of the version before are read, and none of their members is gone or another one."""
import json
import re

import golden
import schema
from check_bad_input import source
from harness import check, expect
from check_json import TALKS


def documents():
    """Golden documents by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(golden.FOLDER.glob("*.json"))}


@check
def old_documents_are_of_the_schemas_of_today(session):
    """Every kind that a machine of any sort writes is among them."""
    wrong = [f"{name}: {problem}" for name, document in documents().items() for problem in schema.problems(document)]
    expect(not wrong, "; ".join(wrong[:5]))
    kinds = {re.sub(r".*/|-\d+$", "", d["schema"]) for d in documents().values()}
    every = {path.stem for path in schema.FOLDER.glob("*.json")}
    expect(kinds >= every - golden.LEFT_OUT - {"svm-report", "svm-replay"}, f"no document of {sorted(every - kinds)}")
    print(f"  {len(documents())} documents of {len(kinds)} kinds")


def broken(kind, path, always, allowed, today):
    """What is wrong with a promised member, if something is."""
    now = today.get(path)
    if now is None:
        return "is gone"
    if always and not now[0]:
        return "is not always written any more"
    if allowed and not now[1] <= allowed:
        return f"may be {'|'.join(sorted(now[1] - allowed))} now"
    return None


@check
def no_member_goes_or_changes_its_type(session):
    """Of each kind whose number is the same."""
    today = {name.rsplit("/", 1)[1]: golden.members(v.schema) for name, v in schema.validators().items()}
    numbers = {kind.rsplit("-", 1)[0]: int(kind.rsplit("-", 1)[1]) for kind in today}
    wrong, count = [], 0
    for kind, path, always, allowed in golden.promised():
        name, number = kind.rsplit("-", 1)
        if numbers.get(name, 0) > int(number):
            continue  # another number, another promise
        count += 1
        why = broken(kind, path, always, allowed, today.get(kind, {}))
        wrong += [f"{kind} {path} {why}"] if why else []
    expect(not wrong, f"a new number is needed, or the member back: {'; '.join(wrong[:5])}")
    expect(count > 1000, f"{count} members are looked at")
    lacking = sum(path not in {p for k, p, _, _ in golden.promised() if k == kind} for kind, m in today.items() for path in m)
    print(f"  {count} members; {lacking} since then")


@check
def the_promise_can_be_broken(session):
    """A member that is gone, of another type, or left out at times is noticed."""
    today = {"$.a": (True, {"integer"}), "$.b": (False, {"string", "null"})}
    expect(broken("x-1", "$.a", True, {"integer"}, today) is None, "the same")
    expect(broken("x-1", "$.a", True, {"integer", "null"}, today) is None, "narrower")
    expect(broken("x-1", "$.b", True, {"string", "null"}, today), "left out at times")
    expect(broken("x-1", "$.b", False, {"string"}, today), "null")
    expect(broken("x-1", "$.c", False, {"string"}, today), "gone")
    damaged = documents()["report"]
    del damaged["evaluations"][0]["machine"]
    expect(schema.problems(damaged), "a document without a member is noticed")


@check
def old_documents_are_taken(session):
    """As a baseline, as a plan, as homes, and as a run that is reported of."""
    folder = session.path("golden")
    folder.mkdir()
    program = source(session, "talks", TALKS)
    dataset = folder / "talks.hnt"
    session.run("record", "-o", dataset, "--", program)
    for name, arguments in {"report": (), "quick": ("--quick",), "quick-changes": ("--quick", "--changes")}.items():
        # The same program: whatever the figures are, the question is the same.
        done = session.run("report", dataset, *arguments, "--baseline", golden.FOLDER / f"{name}.json", "--fail-above", "50", status={0, 1})
        expect("baseline is of another command" not in done.stderr and "cannot be compared" not in done.stderr, f"{name}: {done.stderr}")
    done = session.run("run", "--plan", golden.FOLDER / "plan.json", "--match", "size", "--dry-run", "--", program, status={0, 1})
    expect("schema" not in done.stderr and "not a plan" not in done.stderr, done.stderr)
    said = session.run("svm", "report", golden.FOLDER / "svm-run.json", status={0, 1})
    expect("no document" not in said.stderr, said.stderr)
    print("  three baselines, a plan, a run on nodes")
