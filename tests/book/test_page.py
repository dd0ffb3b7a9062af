#!/usr/bin/env python3
"""Whether pages of the book are read as their reader reads them, and whether what differs is told."""
import pathlib
import tempfile
import unittest

from page import Command, File, Page

TEXT = """# A page
<!-- varies: [0-9.]+ s\\b -->
<!-- figures: within 20 % -->
<!-- run: cp $ROOT/x . -->

`app.c`:

```c
int main;
```

```console
$ make \\
    app
built in 0.3 s
cost 120 ms at app.c:17 █████
$ true
```

```
$ no command
```
"""


def page(text):
    """The page of this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text)
        return Page(path)


def shown(text, directives=""):
    """A page with one command that shows this, and the command."""
    made = page(f"{directives}\n```console\n$ it\n{text}\n```\n")
    return made, made.steps[0]


class Pages(unittest.TestCase):
    """Reading pages, comparing, updating."""

    def test_steps_are_files_and_commands_in_order(self):
        steps = page(TEXT).steps
        self.assertEqual([type(s) for s in steps], [Command, File, Command, Command])
        self.assertEqual((steps[0].text, steps[0].first), ("cp $ROOT/x .", None))
        self.assertEqual((steps[1].name, steps[1].text), ("app.c", "int main;\n"))
        self.assertEqual(steps[2].text, "make \\\n    app")
        self.assertEqual(steps[3].last - steps[3].first, 0)

    def test_only_what_may_differ_differs(self):
        made = page(TEXT)
        make = made.steps[2]
        self.assertFalse(made.differences(make, ["built in 17 s", "cost 110 ms at app.c:17   ███"]))
        self.assertTrue(made.differences(make, ["built in 17 s", "cost 80 ms at app.c:17 ███"]))
        self.assertTrue(made.differences(make, ["built in 17 s", "cost 120 ms at app.c:18 ███"]))
        self.assertTrue(made.differences(make, ["built in 17 s"]))
        self.assertTrue(made.differences(make, ["built in 17 s", "cost 120 ms at app.c:17", "more"]))
        self.assertTrue(made.differences(made.steps[3], ["something"]))

    def test_without_directives_figures_and_spaces_count(self):
        made, command = shown("cost 120 ms")
        self.assertFalse(made.differences(command, ["cost 120 ms"]))
        self.assertTrue(made.differences(command, ["cost 121 ms"]))
        self.assertTrue(made.differences(command, ["cost  120 ms"]))

    def test_wildcards(self):
        made, command = shown("a\n...\nb [..] c\n...")
        self.assertFalse(made.differences(command, ["a", "b 1 c"]))
        self.assertFalse(made.differences(command, ["a", "x", "y", "b 1 2 c", "z"]))
        self.assertTrue(made.differences(command, ["x", "a", "b 1 c"]))
        self.assertTrue(made.differences(command, ["a", "b c"]))

    def test_update_writes_what_was_printed_and_keeps_wildcards(self):
        made, command = shown("first [..]\n...\nlast\nold")
        text = made.with_outputs([(command, ["first 1", "x", "y", "last", "new"])])
        self.assertIn("$ it\nfirst [..]\n...\nlast\nnew\n```", text)

    def test_update_leaves_what_only_varies(self):
        made, command = shown("cost 120 ms", "<!-- figures: within 20 % -->")
        self.assertIn("cost 120 ms", made.with_outputs([(command, ["cost 121 ms"])]))

    def test_a_console_block_without_a_command_is_refused(self):
        with self.assertRaisesRegex(ValueError, "begins with a command"):
            page("```console\noutput\n```\n")


if __name__ == "__main__":
    unittest.main()
