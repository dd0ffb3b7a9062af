"""Policies in Python: equal to those in Rust, refused where they are no placement, priced by the checker."""
import pyarrow
import pytest

import homenode as hn
from homenode import Copy, Drop, Move, Place, Policy


class FirstTouch(Policy):
    """As first-touch"""
    name = "py-first-touch"

    def decide(self, state, access):
        return None


class Folded(FirstTouch):
    name = "py-folded"
    folds = True


class MigrateOnWrite(Policy):
    name = "py-migrate-on-write"

    def decide(self, state, access):
        if access.is_write and not access.is_write_back and not access.is_first and access.node not in access.copies:
            return Move(access.node)


class Interleave(Policy):
    name = "py-interleave"

    def __init__(self, nodes):
        self.nodes = nodes

    def decide(self, state, access):
        return Place(access.block % self.nodes) if access.is_first else None


class Dsm(Policy):
    """Copies on every read, moves on every write"""
    name = "py-dsm"

    def decide(self, state, access):
        if access.is_first or access.is_write_back and len(access.copies) == 1:
            return None
        return Move(access.node) if access.is_write else [Copy(access.node)]


@pytest.mark.parametrize("machine, nodes", [("two-socket", 2), ("numa", 8)])
@pytest.mark.parametrize("own, known", [
    (FirstTouch, "first-touch"), (Folded, "first-touch"), (MigrateOnWrite, "migrate-on-write"),
    (Interleave, "interleave"), (Dsm, "dsm"),
])
def test_a_policy_costs_what_its_twin_in_rust_costs(slow, machine, nodes, own, known):
    policy = own(nodes) if own is Interleave else own()
    report = slow.report(machine, policies=[policy, known], verify=True)
    rows = {row["name"]: row for row in report.to_dict()["evaluations"][0]["policies"]}
    mine, theirs = rows[own.name], rows[known]
    for part in ["total", "local", "remote", "movement", "moves", "copies"]:
        assert mine[part] == theirs[part], part
    checked = {row["name"]: row for row in pyarrow.table(report.verified).to_pylist()}
    assert checked[own.name]["said"] == checked[own.name]["checked"]
    optimum = min(row["total"] for row in report.to_dict()["evaluations"][0]["optimum"])
    assert mine["total"] >= optimum


def test_names_and_summaries(slow):
    class Nameless(Policy):
        """Does nothing.

        At length."""

        def decide(self, state, access):
            return None

    rows = slow.report(policies=[Nameless()]).to_dict()["evaluations"][0]["policies"]
    own = rows[-1]
    assert (own["name"], own["summary"]) == ("Nameless", "Does nothing.")
    assert len(rows) > 5, "those meant for reports are there too"
    with pytest.raises(hn.UsageError, match="cannot call a policy"):
        slow.report(policies=[FirstTouch(), FirstTouch()])
    Nameless.name = "ace"
    with pytest.raises(hn.UsageError, match="no name of a known policy"):
        slow.report(policies=[Nameless()])
    with pytest.raises(TypeError, match="decide"):
        slow.report(policies=[object()])


def made(decide):
    return type("Made", (Policy,), {"decide": lambda self, state, access: decide(state, access)})()


@pytest.mark.parametrize("decide, error, why", [
    (lambda s, a: Copy(1 - a.node) if not a.is_first else None, hn.UsageError, "2 copies when node"),
    (lambda s, a: Place(7), hn.UsageError, "has no place 7"),
    (lambda s, a: Place("global"), hn.UsageError, "has no place global"),
    (lambda s, a: Move(0) if a.is_first else None, hn.UsageError, "nowhere yet"),
    (lambda s, a: Place(0), hn.UsageError, "is placed already"),
    (lambda s, a: None if a.is_first else Drop(a.copies[0]), hn.UsageError, "the only one of block"),
    (lambda s, a: None if a.is_first else Drop(1 - a.copies[0]), hn.UsageError, "no copy at"),
    (lambda s, a: "move", TypeError, "known are Place"),
    (lambda s, a: ("fly", 0), TypeError, "known are Place"),
    (lambda s, a: ("move", "nowhere"), ValueError, "is no place"),
    (lambda s, a: 1 // 0, ZeroDivisionError, "zero"),
])
def test_what_is_no_placement_is_refused(slow, decide, error, why):
    with pytest.raises(error, match=why):
        slow.report(policies=[made(decide)])


def test_a_policy_is_told_of_every_access(slow):
    class Counts(Policy):
        def __init__(self):
            self.accesses, self.blocks = 0, set()

        def begin(self, block, block_bytes, home):
            assert block_bytes == 4096 and home is None
            self.blocks.add(block)

        def decide(self, state, access):
            assert access.weight == 1 and "write" in repr(access) or "read" in repr(access)
            self.accesses += not access.is_free

    counts = Counts()
    found = slow.report(policies=[counts, "first-touch"]).to_dict()["evaluations"][0]
    # Findings replay the recording with their remedies under first touch alone.
    assert counts.accesses == found["totals"]["memory_accesses"]
    assert len(counts.blocks) == found["blocks"]
