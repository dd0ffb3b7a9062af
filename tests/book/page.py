"""Pages of the book as programs: the files that a page shows, the commands that it gives, the output that it promises."""
import difflib
import re

FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
FILE = re.compile(r"`([\w.-]+)`:$")
HIDDEN = re.compile(r"^<!-- run: (.+) -->$")
VARIES = re.compile(r"^<!-- varies: (.+) -->$")
FIGURES = re.compile(r"^<!-- figures: within ([0-9]+) % -->$")
# A figure, but not the number of a line or a part of a name.
NUMBER = re.compile(r"(?<![\w.:(-])\d[\d,]*(?:\.\d+)?(?!\w)")
BAR = re.compile("[█▏▎▍▌▋▊▉]+")


class Command:
    """One command of a page; `first` to `last` are the lines of its output, none for a hidden one."""

    def __init__(self, line, text, first=None, last=None):
        self.line, self.text, self.first, self.last = line, text, first, last


class File:
    """A file that a page shows."""

    def __init__(self, line, name, text):
        self.line, self.name, self.text = line, name, text


class Page:
    """Steps of a page in order, and what varies in its output by machine or run: patterns, and figures by some percent."""

    def __init__(self, path):
        self.path, self.lines = path, path.read_text().split("\n")
        self.steps, self.varies, self.percent = [], [], 0
        number, told = 0, ""
        while number < len(self.lines):
            line = self.lines[number]
            fence, hidden, varies, figures = (form.match(line) for form in (FENCE, HIDDEN, VARIES, FIGURES))
            if fence:
                number = self.block(number, fence[2], told)
            elif hidden:
                self.steps.append(Command(number, hidden[1]))
            elif varies:
                self.varies.append(re.compile(varies[1]))
            elif figures:
                self.percent = int(figures[1])
            told = line if line.strip() else told
            number += 1

    def block(self, begin, language, told):
        """Takes the block whose fence stands at `begin`; the line of its closing fence."""
        end = begin + 1
        while not FENCE.match(self.lines[end]):
            end += 1
        named = FILE.search(told)
        if language == "console":
            self.steps += commands(self.lines, begin + 1, end)
        elif named:
            self.steps.append(File(begin, named[1], "\n".join(self.lines[begin + 1:end]) + "\n"))
        return end

    def differences(self, command, actual):
        """Lines of a comparison of what the page shows with what was printed; none if nothing differs but what may."""
        shown = self.lines[command.first:command.last]
        if self.matches(shown, actual):
            return []
        return list(difflib.unified_diff(shown, actual, "page", "printed", lineterm="", n=1))

    def matches(self, shown, actual):
        """Whether lines are as shown; the line `...` stands for any number of lines, also none."""
        reached = {0}
        for line in shown:
            if line == "...":
                reached = set(range(min(reached), len(actual) + 1))
            else:
                reached = {n + 1 for n in reached if n < len(actual) and self.fits(line, actual[n])}
            if not reached:
                return False
        return len(actual) in reached

    def fits(self, shown, actual):
        """Whether a line is as shown; `[..]` stands for anything in it."""
        shown, actual = self.plain(shown), self.plain(actual)
        if not self.percent:
            return re.fullmatch(".*".join(map(re.escape, shown.split("[..]"))), actual) is not None
        words = [re.escape(word) for word in NUMBER.split(shown)]
        form = r"(\d[\d,]*(?:\.\d+)?)".join(words).replace(re.escape("[..]"), ".*")
        found = re.fullmatch(form, actual)
        return found is not None and all(map(self.near, NUMBER.findall(shown), found.groups()))

    def near(self, shown, actual):
        """Whether two figures differ by no more than the page permits, or by 2 in the last place."""
        one, other = (float(figure.replace(",", "")) for figure in (shown, actual))
        last = 10.0 ** -len(shown.partition(".")[2])
        return abs(one - other) <= max(self.percent / 100 * max(one, other), 2.001 * last)

    def plain(self, line):
        """The line without what varies."""
        for pattern in self.varies:
            line = pattern.sub("?", line)
        if self.percent:
            line = re.sub(" +", " ", BAR.sub("", line))
        return line.rstrip()

    def with_outputs(self, outputs):
        """The page's text with these outputs, where they differ: pairs of a command and what it printed."""
        lines = list(self.lines)
        for command, actual in reversed(outputs):
            if self.differences(command, actual):
                lines[command.first:command.last] = self.kept(self.lines[command.first:command.last], actual)
        return "\n".join(lines)

    def kept(self, shown, actual):
        """`actual` with lines as they were where only what may differ does, and with the wildcards that still fit."""
        for old in (line for line in shown if line != "..."):
            n = next((n for n, line in enumerate(actual) if self.fits(old, line)), None)
            actual = actual if n is None else actual[:n] + [old] + actual[n + 1:]
        for n, old in enumerate(shown):
            if old == "...":
                actual = cut(actual, shown[n - 1] if n else None, shown[n + 1] if n + 1 < len(shown) else None)
        return actual


def commands(lines, begin, end):
    """Commands of a console block: lines that begin with `$ `, with what follows until the next one."""
    found = []
    for number in range(begin, end):
        if lines[number].startswith("$ "):
            found.append(Command(number, lines[number][2:], number + 1, end))
            if len(found) > 1:
                found[-2].last = number
        elif not found:
            raise ValueError(f"line {number + 1}: a console block begins with a command: `$ ...`")
        elif found[-1].first == number and lines[number - 1].endswith("\\"):
            found[-1].text += "\n" + lines[number]
            found[-1].first += 1
    return found


def cut(actual, before, after):
    """`actual` with `...` for the lines between those two; as it is if they are not there."""
    try:
        first = actual.index(before) + 1 if before is not None else 0
        last = actual.index(after, first) if after is not None else len(actual)
    except ValueError:
        return actual
    return actual[:first] + ["..."] + actual[last:]
