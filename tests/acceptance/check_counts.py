"""What gcc and clang make of the same program: counts, ranking, advice."""
import json

from harness import check, expect

COMPILERS = ("gcc", "clang")
PLAIN = ("lu", "sor", "radix", "stencil")  # nothing but arrays: stores are the program's
REASON = "compilers keep neighbours in registers or read them again"


def counted(session, compiler, name):
    """Counts by operation of one recorded run."""
    dataset, _, _ = session.record(session.build(compiler) / name, "-p", "8")
    return session.once(("info", dataset), lambda: session.json("info", dataset, "--json"))["ops"]


def total(session, compiler, name, *arguments):
    """References of one run, counted and not recorded."""
    program = session.build(compiler) / name
    done = session.run("record", "--count-only", "--json", "--", program, *arguments)
    return json.loads(done.stdout.splitlines()[-1])["refs"]


def off(a, b):
    """Relative difference."""
    return abs(a - b) / max(a, b, 1)


@check
def lu_agrees(session):
    """LU at n = 512: the references of gcc and clang builds agree within 0.1 %."""
    totals = [total(session, c, "lu", "-n", "512") for c in COMPILERS]
    print(f"  references: gcc {totals[0]:,}, clang {totals[1]:,}: {100 * off(*totals):.4f} % apart")
    expect(off(*totals) <= 0.001, "more than 0.1 % apart")
    expect(134e6 < min(totals) < 138e6, "about n^3 references")


@check
def stores_agree(session):
    """Plain-array kernels: stores agree; loads are reported."""
    for name in PLAIN:
        a, b = (counted(session, c, name) for c in COMPILERS)
        print(f"  {name:<8} stores gcc {a['write']:,} clang {b['write']:,} ({100 * off(a['write'], b['write']):.5f} % apart); "
              f"loads gcc {a['read']:,} clang {b['read']:,} ({100 * (b['read'] / a['read'] - 1):+.2f} %: {REASON})")
        expect(off(a["write"], b["write"]) <= 1e-4, f"{name}: the stores differ by more than start-up code explains")


def ranking(document):
    """Policies from cheapest to dearest."""
    rows = document["evaluations"][0]["policies"]
    return [r["name"] for r in sorted(rows, key=lambda r: int(r["total"]))]


def inversions(documents):
    """Pairs of policies that the two reports rank differently although both see more than 1 % between them."""
    totals = [{r["name"]: int(r["total"]) for r in d["evaluations"][0]["policies"]} for d in documents]
    found = []
    for x in totals[0]:
        for y in totals[0]:
            a, b = ((t[x] - t[y]) / max(t[x], t[y], 1) for t in totals)
            if x < y and a * b < 0 and min(abs(a), abs(b)) > 0.05:  # where blocks lie is chance, and interleaving goes by it
                found.append(f"{x} against {y}")
    return found


def advice(document):
    """What the report tells a programmer: what, where it is allocated, what to do. Which of several stores to one falsely
    shared element costs most depends on the order in which the compiler puts them, so the other places are left out."""
    return sorted((f["kind"], f["object"], f["places"][0], f["advice"]) for f in document["evaluations"][0]["findings"])


@check
def same_advice(session):
    """Ranking of policies and advice do not depend on the compiler."""
    for name in ("stencil", "kv", "lu", "radix"):
        documents = []
        for compiler in COMPILERS:
            dataset, _, _ = session.record(session.build(compiler) / name, "-p", "8")
            documents.append(session.report(dataset))
        print(f"  {name:<8} cheapest first: {', '.join(ranking(documents[0]))}; {len(advice(documents[0]))} findings")
        expect(not inversions(documents), f"{name}: ranked differently: {inversions(documents)}")
        expect(advice(documents[0]) == advice(documents[1]), f"{name}: {advice(documents[0])} != {advice(documents[1])}")
