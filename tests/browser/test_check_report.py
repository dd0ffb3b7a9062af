#!/usr/bin/env python3
"""The browser test must notice a broken report: `test_check_report.py REPORT.html` breaks a good one in known ways.

The report must have what is broken: charts, tables to sort and to filter, and a link from one of its parts to another.

Exit status 0 if the good report passes and every broken one fails for the expected reason.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_report.py")
OPEN_POLICY = '<meta http-equiv="Content-Security-Policy" content="">'

# name: (what to replace, by what, what the check must say)
DAMAGE = {
    "foreign script": ("</main>", "</main><script>1</script>", "log: "),
    "network request": ("</main>", '</main><img src="https://example.invalid/x.png" alt="">', "log: "),
    "exception": ("homenodeHeat(canvas, heat, nodes) {", "homenodeHeat(canvas, heat, nodes) { heat.absent.more;", "exception: "),
    "console error": ("function homenodeBars(", "console.error('oops'); function homenodeBars(", "console: oops"),
    "empty canvas": ("function homenodeBand(", "function homenodeBand() {} function unused(", "has no marks"),
    "chart without bars": ("data: p.rows.map((r) => r.values[i]),", "data: p.rows.map(() => 0),", "has no marks"),
    "one theme": ('chosen || (dark.matches ? "dark" : "light")', '"light"', "the page is light"),
    "too wide": ("</main>", "</main><pre>" + "wide" * 400 + "</pre>", "wider than the window"),
    "place broken between lines": ("white-space: nowrap; direction: rtl;", "white-space: normal; width: 1px; overflow-wrap: anywhere;", "broken: "),
    "sorting dead": ("homenodeSort(table, column));", "0);", "sorting changes nothing"),
    "filter dead": ("row.hidden = !words.every((word) => text.includes(word));", "", "the filter hides nothing"),
    "script in the data ran": ("window.__homenodeSelfCheck =", "window.__owned = 1, window.__homenodeSelfCheck =", "data ran"),
}


def unlinked(good):
    """Takes away what the first link inside the page leads to."""
    link = re.search(r'<a [^>]*href="#([^"]+)"', good[good.index("<main") :])
    target = link[1] if link else "no link in this report"
    return f'id="{target}"', 'id="gone"', f"no target: #{target}"


def main(report):
    good = pathlib.Path(report).read_text(encoding="utf-8")
    damages = DAMAGE | {"link without target": unlinked(good)}
    start = good.index("<meta http-equiv=")
    policy = good[start : good.index(">", start) + 1]
    failures = [] if run(good)[0] == 0 else ["the good report does not pass"]

    def unnoticed(name):
        """What is wrong if the check does not notice this damage."""
        old, new, expected = damages[name]
        if old not in good:
            return f"{name}: the report has no {old!r} to damage"
        damaged = good.replace(old, new)
        if name not in ("foreign script", "network request"):  # the policy would stop any change to a script
            damaged = damaged.replace(policy, OPEN_POLICY)
        status, output = run(damaged)
        noticed = status == 1 and expected in output
        return None if noticed else f"{name}: status {status}, expected {expected!r} in:\n{output}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures += filter(None, pool.map(unnoticed, damages))
    print("\n".join(failures) or f"{len(damages)} kinds of damage noticed")
    return 1 if failures else 0


def run(html):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "report.html")
        path.write_text(html, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
