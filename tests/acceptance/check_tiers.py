"""`homenode sim memory` on a machine with an expander: a program whose hot pages are known, and every way to ask it wrongly."""
from check_bad_input import source
from harness import check, expect, one_line

# Cold pages first, so that first touch fills DRAM with them.
HOT = """
#include <stdlib.h>
enum { PAGE = 512, COLD = 96, HOT = 32 };
int main(void) {
    volatile long *words = aligned_alloc(4096, (COLD + HOT) * 4096);
    for (int p = 0; p < COLD + HOT; p++) words[p * PAGE] = p;
    for (int round = 0; round < 2000; round++)
        for (int p = COLD; p < COLD + HOT; p++) words[p * PAGE] += round;
    return 0;
}
"""
MACHINE = """name = "expanded"
unit = "ps"
word_bytes = 8
page_bytes = 4096
cores = [4, 0]
[read]
matrix = [[100, 250], [250, 250]]
[copy]
fixed = 1000
per_word = 1
"""


@check
def hot_pages_belong_into_dram(session):
    """The hot quarter is all the DRAM it takes; first touch needs nearly all; nobody beats the optimum."""
    dataset, _, _ = session.record(source(session, "hot", HOT))
    machine = session.path("bad/expanded.toml")
    machine.write_text(MACHINE)
    document = session.json("sim", "memory", dataset, "--machine", machine, "--dram", "10..100:5", "--tick", "1000", "--json")
    least = {e["name"]: e["size"] and e["size"]["percent"] for e in document["enough"]}
    print(f"  {document['pages']} pages, least DRAM in percent: {least}")
    expect(least["optimum"] <= least["best-static"] <= 31, "32 of some 130 pages are hot")
    expect(least["none"] > 90, "first touch keeps cold pages")
    expect(least["recency"] < 60 and least["hotness(32)"] < 60, "policies find the hot pages")
    last = None
    for point in document["points"]:
        best = point["optimum"]
        expect(best["kind"] == "exact" and all(p["cost"] >= best["cost"] for p in point["policies"]), "a policy below the optimum")
        expect(last is None or best["cost"] <= last, "more DRAM never costs more")
        last = best["cost"]
    expect(last == document["in_dram"], "DRAM for everything costs what all DRAM costs")


@check
def reports_say_how_little_dram_is_enough(session):
    """The hot quarter if the hottest pages are there, nearly all by first touch; sizes cost what `sim memory` says, on the page, too."""
    dataset, _, _ = session.record(source(session, "hot", HOT))
    machine = session.path("bad/expanded.toml")
    machine.write_text(MACHINE)
    capacity = session.json("report", dataset, "--machine", machine, "--json")["capacity"]
    print(f"  {capacity['sentence']}")
    for enough in capacity["enough"]:
        expect(enough["hottest"]["percent"] <= 31 and enough["first_come"]["percent"] > 90, "32 of some 130 pages are hot, and come last")
    expect(not capacity["points"], "no sizes without --capacity")
    page = session.path("bad/capacity.html")
    session.run("report", dataset, "--machine", machine, "--capacity", "128K,50", "-o", page)
    expect(page.read_text().count("<polyline") == 3, "three curves")
    points = session.json("report", dataset, "--machine", machine, "--capacity", "128K,50", "--json")["capacity"]["points"]
    asked = [p for p in points if p["asked"]]
    expect(len(asked) == 2 and asked[0]["bytes"] == 128 << 10, "the sizes that were named")
    arguments = ("--dram", ",".join(f"{p['bytes']}B" for p in asked), "--policy", "none,best-static")
    for point, same in zip(asked, session.json("sim", "memory", dataset, "--machine", machine, *arguments, "--json")["points"]):
        expect([point["first_come"], point["hottest"]] == [p["cost"] for p in same["policies"]], "first come is `none`")
        expect(point["optimum"] == same["optimum"]["cost"] <= point["hottest"] <= point["first_come"], "the optimum of `sim memory`")
    for arguments, words in (
        (("--machine", "two-socket", "--capacity", "16G"), "no node without processors"),
        (("--machine", machine, "--capacity", "some"), "--capacity: 'some'"),
        (("--machine", machine, "--capacity", "1B"), "fewer frames than one"),
    ):
        done = session.run("report", dataset, *arguments, status=2)
        expect(words in one_line(done), f"{arguments}: {done.stderr}")


@check
def asked_wrongly(session):
    """Options of the other kind of machine, machines without tiers, sizes that are none: status 2, one line."""
    dataset, _, _ = session.record(source(session, "hot", HOT))
    for arguments, words in (
        (("--machine", "dram-cxl", "--architecture", "ascoma"), "--architecture: machine 'dram-cxl'"),
        (("--machine", "dram-cxl", "--pressure", "50"), "--pressure: machine 'dram-cxl'"),
        (("--dram", "50"), "--dram: machine 'ascoma'"),
        (("--machine", "numa", "--policy", "recency"), "--policy: machine 'numa'"),
        (("--machine", "dram-cxl", "--policy", "lru"), "known are none"),
        (("--machine", "dram-cxl", "--dram", "500"), "--dram: '500'"),
        (("--machine", "dram-cxl", "--dram", "100B"), "fewer frames than one"),
        (("--machine", "dram-cxl", "--page", "3000"), "power of two"),
    ):
        done = session.run("sim", "memory", dataset, *arguments, status=2)
        expect(words in one_line(done), f"{arguments}: {done.stderr}")
