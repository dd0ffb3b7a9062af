"""`--json` of every command: one document on stdout, of its schema, and nothing else, whatever programs print."""
import json
import os
import pathlib

import perf_file
import schema
from check_bad_input import source
from harness import check, expect

# The first windows of a run under a simulated memory: what crates/placement/tests/live/journal.rs records.
JOURNAL = pathlib.Path(__file__).parent / "journal.jsonl"

TALKS = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    volatile int *words = malloc(4096 * sizeof *words);
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < 4096; i++) words[i] = i;
    puts("{\\"this\\": \\"is what the program prints\\"}");
    fflush(stdout);
    return 0;
}
"""


def commands(session, program, folder):
    """Every command that has --json and needs no second memory node, with what it works on."""
    dataset = folder / "talks.hnt"
    yield "record", ["record", "--json", "-o", dataset, "--calibrate", "true", "--", program]
    for name in ("info", "check", "recover", "report"):
        yield name, [name, dataset, "--json"]
    yield "quick", ["report", dataset, "--quick", "--json"]
    yield "quick --changes", ["report", dataset, "--quick", "--changes", "--json"]
    yield "compare", ["report", dataset, "--compare", dataset, "--machine", "ace", "--json"]
    yield "report", ["report", dataset, "--verify", "--block", "4096,64", "--policy", "first-touch,ace(2),migrate-on-write", "--json"]
    yield "compact", ["compact", dataset, "-o", folder / "small.hnt", "--json"]
    yield "place", ["place", dataset, "--json"]
    yield "plan", ["place", dataset, "-o", folder / "plan.json"]
    yield "run", ["run", "--json", "--", program]
    yield "run --plan", ["run", "--json", "--plan", folder / "plan.json", "--", program]
    yield "run --compare", ["run", "--json", "--compare", "first-touch,interleave", "--", program]
    yield "sweep", ["sweep", dataset, "--machines", "ace", "--json", "-o", folder / "sweep"]
    yield "sweep --analysis", ["sweep", dataset, "--machines", "numa", "--analysis", "false-sharing,phases", "--json", "-o", folder / "analyses"]
    yield "replay", ["migrate", "--replay", JOURNAL, "--json"]
    eight = session.record(session.build("gcc", only="em3d") / "em3d", "-p", "8")[0]
    (folder / "clusters.toml").write_text(f'traces = ["{eight}"]\n[[cluster]]\nmachine = "svm-achievable"\nnodes = "4x2"\nwhat_if = "io=4x"\n')
    yield "sweep of clusters", ["sweep", folder / "clusters.toml", "--json", "-o", folder / "clusters"]
    yield "sim-cluster", ["sim", "cluster", eight, "--nodes", "4x2", "--json"]
    yield "sim-memory", ["sim", "memory", eight, "--pressure", "70", "--json"]
    yield "report", ["report", dataset, "--machine", "dram-cxl", "--capacity", "50,100", "--json"]
    yield "sim-tiers", ["sim", "memory", dataset, "--machine", "dram-cxl", "--dram", "50,100", "--tick", "10", "--json"]
    yield "migrate", ["migrate", "--json", "--dry-run", "--duration", "1", "--pid", os.getpid()]
    perf_file.write(folder / "perf.data", program)
    yield "import", ["import", folder / "perf.data", "-o", folder / "imported.hnt", "--json"]
    for name in ("info", "report"):
        yield f"{name} of samples", [name, folder / "imported.hnt", "--json"]
    yield "reproduce", ["reproduce", "bolosky", "-e", "E1", "--json"]
    yield "svm-run", ["svm", "run", "-n", "2", "--json", "--", program]
    yield "topo", ["topo", "--json"]
    yield "topo --measure", ["topo", "--measure", "--quick", "--json"]
    yield "doctor", ["doctor", "--json"]
    yield "list", ["list", "--json"]
    for family in ("policies", "protocols", "realignments", "machines", "rules", "backends", "columns", "formats", "analyses", "architectures", "tier-policies", "open-points", "svm-steps", "svm-transports", "experiments"):
        yield f"list {family}", ["list", family, "--json"]


@check
def json_and_nothing_else(session):
    """One JSON document of the command's own schema on stdout; the program's own words go elsewhere."""
    folder = session.path("json")
    folder.mkdir()
    program = source(session, "talks", TALKS)
    for name, arguments in commands(session, program, folder):
        done = session.run(*arguments, status={0, 1})
        if name == "plan":
            continue  # a file for `run --plan`, looked at as the output of `place`
        document = json.loads(done.stdout)
        wrong = schema.problems(document)
        expect(not wrong, f"{name}: {'; '.join(wrong[:3])}")
        print(f"  {name}: status {done.returncode}, {len(done.stdout):,} bytes, {document['schema'].rsplit('/', 1)[1]}")


# Members that documents leave out where there is nothing to say; every other one is always written.
OPTIONAL = {
    "import": {"exact"},
    "list": {"details"},
    "record": {"native"},
    "info": {"certain", "imported", "native"},
    "quick": {"certain", "native"},
    "report": {"capacity", "loops", "hit_cost", "hits", "memory_time", "native", "traffic"},
    "plan": {"bandwidth", "huge", "site", "source", "cores", "command", "covered", "warnings"},
    "sim-cluster": {"injected"},
    "topo": {"limits", "localities", "offline_cpus"},
    "svm-run": {"host", "options", "planned", "source"},
    "svm-report": {"host", "options", "planned", "source"},
}


@check
def schemas_are_closed(session):
    """No object of a document may have a foreign member, and none may lack one, save those known to be optional."""
    counts = {}
    for name, validator in schema.validators().items():
        kind = name.rsplit("/", 1)[1].rsplit("-", 1)[0]
        optional = set()
        for at, described in schema.objects(validator.schema):
            expect(described.get("additionalProperties") is False, f"{kind} {at} may have foreign members")
            optional |= set(described["properties"]) - set(described.get("required", []))
            counts[kind] = counts.get(kind, 0) + len(described["properties"])
        expect(optional == OPTIONAL.get(kind, set()), f"{kind} may lack {sorted(optional)}")
    expect(len(counts) >= 16 and sum(counts.values()) > 500, f"at least 16 kinds of documents and their members, not {counts}")
    print("  members described: " + ", ".join(f"{kind} {n}" for kind, n in counts.items()))


@check
def the_schema_check_notices(session):
    """The validator sees a member that is missing, one too many, and values of another type, at any depth."""
    document = session.json("list", "--json")
    expect(not schema.problems(document), "the document is right")
    member = document["members"][0]
    for damaged in (
        {**document, "family": 1.5},
        {**document, "more": 1},
        {**document, "schema": "other"},
        {key: value for key, value in document.items() if key != "family"},
        {**document, "members": [{**member, "name": None}]},
        {**document, "members": [{**member, "more": 1}]},
        {**document, "members": [{"name": member["name"]}]},
    ):
        expect(schema.problems(damaged), f"{damaged} is noticed")
    check = session.json("check", session.path("no.hnt"), "--json", status=3)
    for damage in ({"refs": -1}, {"ok": "yes"}, {"problems": [1]}):
        expect(schema.problems({**check, **damage}), f"{damage} is noticed")
