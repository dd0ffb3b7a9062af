"""Policies that are written in Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, Union

from ._native import Access

#: Where a copy of a block can be: the number of a node, or global memory.
Location = Union[int, Literal["global"]]
#: What a policy can do to the block that it is asked about.
Action = tuple[str, Location]


def Place(at: Location) -> Action:
    """First placement of the block; free. Without one it is placed where it is first accessed."""
    return ("place", at)


def Copy(to: Location) -> Action:
    """A copy more, at `to`, fetched from the nearest."""
    return ("copy", to)


def Move(to: Location) -> Action:
    """The block to `to`: the other copies are dropped, and if there is none at `to`, the nearest moves."""
    return ("move", to)


def Drop(at: Location) -> Action:
    """Drops a copy that is not the only one; free."""
    return ("drop", at)


class Policy:
    """An on-line policy: told of each access to a block, in order, it decides what to do before the access is served.

    Subclasses define `decide`. An access is served from the cheapest copy. When a node writes a block there may be one copy of it,
    once `decide` has returned; what is no placement is refused with `UsageError`, and `report(verify=True)` has the independent
    checker price what was decided. It runs in the plain engine: slowly (some hundred thousand accesses a second), on one thread.

        class MoveAfter(homenode.Policy):
            "A block moves to the node that accessed it n times in a row from elsewhere"

            def __init__(self, n):
                self.n = n

            def decide(self, state, access):
                if access.is_first or access.node in access.copies:
                    state.count = 0
                    return None
                state.count += 1
                if state.count < self.n:
                    return None
                state.count = 0
                return Move(access.node)
    """

    #: Name in reports: that of the class, if it is not set.
    name: str
    #: Whether equal accesses in a row are one question, with `access.weight` above 1: faster, for policies that do not count.
    folds: bool = False

    def begin(self, block: int, block_bytes: int, home: Location | None) -> Any:
        """The state of a block before its first access: what `decide` gets for each of its accesses, and may change."""
        return SimpleNamespace()

    def decide(self, state: Any, access: Access) -> Action | list[Action] | None:
        """What to do with the block before the access is served: nothing, an action, or several in order."""
        raise NotImplementedError
