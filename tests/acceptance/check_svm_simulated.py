"""Recordings of `homenode svm run` on modelled clusters, and journals of both."""
from harness import check, expect, one_line

STEPS = ("base", "dw", "rf", "dd", "nil")


def equal(session, folder, nodes):
    """What the journals in a folder come to: operations and effects, all equal."""
    found = session.json("svm", "replay", folder, "--json")["journals"]
    expect(len(found) == nodes and all(j["difference"] is None and not j["cut"] for j in found), f"{folder}: {found}")
    expect(all(j["operations"] > 10 and j["compared"] > 100 for j in found), f"{folder}: {found}")
    return [(j["operations"], j["compared"]) for j in found]


@check
def journals_of_a_run_and_of_its_model_replay(session):
    """One recorded run on nodes, which writes journals, and the model of it by every step, which writes such journals, too: both replay. Of LU,
    whose first barrier is the beginning of the heap, and of a program with locks. A byte that is changed is found."""
    built = session.build("gcc", only="lu water")
    for name, words in (("lu", ["-n", 64, "-b", 8]), ("water", ["-n", 27])):
        dataset, noted = session.path(f"data/{name}-noted.hnt"), session.path(f"{name}-run.journals")
        run = [session.homenode, "-q", "svm", "run", "-n", 2, "--journal", noted, "--", built / name, "-p", 2, *words]
        session.run("-q", "record", "-o", dataset, "--", *run)
        print(f"  {name}, run: {equal(session, noted, 2)}")
        for step in STEPS:
            folder = session.path(f"{name}-{step}.journals")
            asked = ["sim", "cluster", dataset, "--nodes", "2x1", "--protocol", step, "--json"]
            row = session.json(*asked, "--journal", folder)["rows"][0]
            expect(row["counts"]["fetches"] > 0 and row["recorded_objects"] == 0, f"{name}, {step}: {row['counts']}")
            print(f"  {name}, model, {step}: {equal(session, folder, 2)}")
    journal = folder / "node-1.journal"
    damaged = bytearray(journal.read_bytes())
    damaged[4096] ^= 0x40
    journal.write_bytes(damaged)
    said = session.run("svm", "replay", folder, status=1).stdout
    expect("node-1.journal: differs" in said and "record 0" in said, said)
    said = one_line(session.run("sim", "cluster", dataset, "--journal", session.path("two.journals"), status=2))
    expect("journals are of one run" in said, said)
