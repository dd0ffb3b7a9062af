"""Sharing patterns of lines, from their definition (docs/patterns.md), independently of the Rust code.

The history of a line is a sequence of turns: maximal runs of one thread. The first turn (initialisation) and the last one
(the final check) do not count; what is between them, the core, decides.
"""

NAMES = ["private", "read-shared", "producer-consumer", "migratory", "falsely shared", "write-shared"]


class Line:
    """One line. Words are bits."""

    __slots__ = ("touched", "turns", "turn", "writers", "all_read_first", "owner", "shared", "written")

    def __init__(self):
        self.touched, self.turns, self.turn = 0, 0, None
        self.writers, self.all_read_first = None, True  # sets and maps only where there is a core
        self.owner, self.shared, self.written = None, 0, 0

    def add(self, thread, touched, written, read_first):
        """References of one thread in a row; several calls in a row may belong to one turn."""
        self.touched |= touched
        if self.turn and self.turn[0] == thread:
            self.turn[1] |= touched
            self.turn[2] |= written
            return
        self.end_turn()
        self.turn = [thread, touched, written, read_first]
        self.turns += 1

    def end_turn(self):
        """The turn before is over; unless it was the first it belongs to the core."""
        if self.turns < 2:
            return
        thread, touched, written, read_first = self.turn
        if self.owner is None:
            self.owner, self.writers = {}, set()
        if written:
            self.writers.add(thread)
            self.all_read_first &= read_first
            self.written |= written
        mine = self.owner.get(thread, 0)
        if touched & ~mine:
            for other, words in self.owner.items():
                if other != thread:
                    self.shared |= words & touched
            self.owner[thread] = mine | touched

    def pattern(self):
        if self.turns < 4:  # at most one turn in the core
            return "private"
        if not self.writers:
            return "read-shared"
        if not self.shared & self.written:
            return "falsely shared"
        if len(self.writers) == 1:
            return "producer-consumer"
        return "migratory" if self.all_read_first else "write-shared"


def totals(lines, word_bytes):
    """Bytes touched and lines, by pattern."""
    found = {name: [0, 0] for name in NAMES}
    for line in lines:
        row = found[line.pattern()]
        row[0] += line.touched.bit_count() * word_bytes
        row[1] += 1
    return found
