"""`--json` of every command: one document on stdout, of its schema, and nothing else, whatever programs print."""
import json
import os

import perf_file
import schema
from check_bad_input import source
from harness import check, expect

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
    yield "record", ["record", "--json", "-o", dataset, "--", program]
    for name in ("info", "check", "recover", "report"):
        yield name, [name, dataset, "--json"]
    yield "compare", ["report", dataset, "--compare", dataset, "--machine", "ace", "--json"]
    yield "report", ["report", dataset, "--verify", "--block", "4096,64", "--policy", "first-touch,ace(2),migrate-on-write", "--json"]
    yield "compact", ["compact", dataset, "-o", folder / "small.hnt", "--json"]
    yield "place", ["place", dataset, "--json"]
    yield "plan", ["place", dataset, "-o", folder / "plan.json"]
    yield "run", ["run", "--json", "--", program]
    yield "run --plan", ["run", "--json", "--plan", folder / "plan.json", "--", program]
    yield "sweep", ["sweep", dataset, "--machines", "ace", "--json", "-o", folder / "sweep"]
    yield "sim-memory", ["sim", "memory", session.record(session.build("gcc", only="em3d") / "em3d", "-p", "8")[0], "--pressure", "70", "--json"]
    yield "migrate", ["migrate", "--json", "--dry-run", "--duration", "1", "--pid", os.getpid()]
    perf_file.write(folder / "perf.data", program)
    yield "import", ["import", folder / "perf.data", "-o", folder / "imported.hnt", "--json"]
    yield "reproduce", ["reproduce", "bolosky", "-e", "E1", "--json"]
    yield "topo", ["topo", "--json"]
    yield "doctor", ["doctor", "--json"]
    yield "list", ["list", "--json"]
    for family in ("policies", "machines", "rules", "backends", "columns", "formats", "analyses", "architectures", "open-points", "experiments"):
        yield f"list {family}", ["list", family, "--json"]


@check
def json_and_nothing_else(session):
    """One JSON document of the command's own schema on stdout; the program's own words go elsewhere."""
    folder, known = session.path("json"), schema.schemas()
    folder.mkdir()
    program = source(session, "talks", TALKS)
    for name, arguments in commands(session, program, folder):
        done = session.run(*arguments, status={0, 1})
        if name == "plan":
            continue  # a file for `run --plan`, looked at as the output of `place`
        document = json.loads(done.stdout)
        wrong = schema.problems(document, known)
        expect(not wrong, f"{name}: {'; '.join(wrong[:3])}")
        print(f"  {name}: status {done.returncode}, {len(done.stdout):,} bytes, {document['schema'].rsplit('/', 1)[1]}")


@check
def the_schema_check_notices(session):
    """The validator sees a member that is missing, one too many, and a value of another type."""
    known = schema.schemas()
    document = session.json("list", "--json")
    expect(not schema.problems(document, known), "the document is right")
    member = next(k for k in document if k != "schema")
    for damage in ({member: 1.5}, {"more": 1}, {"schema": "other"}):
        expect(schema.problems({**document, **damage}, known), f"{damage} is noticed")
    missing = {k: v for k, v in document.items() if k != member}
    expect(schema.problems(missing, known), f"{member} missing is noticed")
