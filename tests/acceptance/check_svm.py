"""`homenode svm run` from outside: programs of the repository on nodes, statuses, mistakes."""
from check_bad_input import source
from harness import check, expect, one_line

STATIC = "int main(void) { return 0; }"


@check
def programs_verify_on_nodes(session):
    """LU and water on 4 nodes, on the lowest and the highest step; the document counts interrupts on the lowest alone."""
    built = session.build("gcc", only="lu water", hooks=False)
    for name in ("lu", "water"):
        for protocol in ("base", "genima"):
            document = session.json("svm", "run", "-n", "4", "--protocol", protocol, "--json", "--", built / name, "-p", "4")
            expect(document["exit_status"] == 0 and len(document["nodes"]) == 4, f"{name}, {protocol}: four nodes, verified")
            pages = sum(c["times"] for n in document["nodes"] for c in n["interrupts"] if c["what"] in ("page", "lock", "diff"))
            expect((pages > 0) == (protocol == "base"), f"{name}, {protocol}: {pages} interrupts")
            print(f"  {name}, {protocol}: {document['seconds']:.2f} s, {pages} interrupts")


@check
def programs_verify_over_sockets(session):
    """LU and water on nodes with only sockets between them, which the list of transports has."""
    built = session.build("gcc", only="lu water", hooks=False)
    listed = session.run("list", "svm-transports").stdout
    expect("tcp" in listed and "shm" in listed, listed)
    for name, nodes in (("lu", 2), ("water", 4)):
        document = session.json("svm", "run", "-n", nodes, "--transport", "tcp", "--json", "--", built / name, "-p", nodes)
        expect(document["exit_status"] == 0 and len(document["nodes"]) == nodes, f"{name}: {nodes} nodes, verified")
        expect(document["transport"] == "tcp", document["transport"])
        print(f"  {name}, {nodes} nodes: {document['seconds']:.2f} s")


@check
def statuses_and_mistakes(session):
    """The program's status is the command's; wrong sizes are usage, a program that cannot be a node is one line."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    session.run("-q", "svm", "run", "-n", "2", "--", lu, "-p", "3", status=1)
    session.run("-q", "svm", "run", "-n", "2", "--", "sh", "-c", "exit 7", status=7)
    for words in (["-n", "0"], ["-n", "65"], ["-n", "2", "--page", "5000"], ["-n", "2", "--protocol", "mesi"], ["-n", "2", "--transport", "ether"]):
        one_line(session.run("svm", "run", *words, "--", lu, status=2))
    static = source(session, "static", STATIC, hooks=False, flags=["-static"])
    said = one_line(session.run("svm", "run", "-n", "2", "--", static, status=1))
    expect("linked statically" in said, said)


@check
def where_the_time_went(session):
    """A run kept, reported on, and compared with one on another step; what is no such document is one line."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    folder = session.path("svm-report")
    folder.mkdir()
    for step in ("base", "genima"):
        session.run("-q", "svm", "run", "-n", "2", "--protocol", step, "-o", folder / step, "--", lu, "-p", "2")
    one_line(session.run("svm", "run", "-n", "2", "-o", folder / "base", "--", lu, "-p", "2", status=2))
    said = session.json("svm", "report", "--json", folder / "base", "--compare", folder / "genima")
    phases = {p["name"] for p in said["run"]["phases"]}
    expect({"initialise", "factor", "verify"} <= phases, f"phases {phases}")
    expect(any("lu.c:" in o["site"] for o in said["run"]["objects"]), f"objects {said['run']['objects']}")
    pages = sum(sum(o["traffic"]["fetches"]) for o in said["run"]["objects"])
    counted = sum(c["times"] for n in said["run"]["nodes"] for c in n["counts"] if c["what"] == "pages fetched")
    expect(0 < pages == counted, f"{pages} fetches by object, {counted} by node")
    text = session.run("svm", "report", folder / "base", "--compare", folder / "genima")
    expect("beside it:" in text.stdout and "lu.c:" in text.stdout, text.stdout)
    (folder / "half").write_bytes((folder / "base").read_bytes()[:1000])
    one_line(session.run("svm", "report", folder / "half", status=3))
    one_line(session.run("svm", "report", folder / "none", status=1))
