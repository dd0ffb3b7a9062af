#!/usr/bin/env python3
"""Opens reports in headless Chromium, light, dark and narrow, and fails unless each one draws everything in silence.

    check_report.py [--chromium PATH] [--screenshot DIR] REPORT.html...

Checked for every file: no console message of level error, no exception, no blocked or failed request, no request but
the file itself; every chart of every evaluation is drawn (colours on each canvas, marks in each chart and each line
picture); no place is broken between lines, every link inside the page has a target, tables can be sorted and filtered; the page follows the preferred colour scheme and the button overrides it; no sideways scrolling at 390 px;
no script from the report's data has run. Exit status 0 if all is well, 1 if not, 2 on usage.
"""

import argparse
import base64
import concurrent.futures
import os
import pathlib
import shutil
import sys

from devtools import Browser, BrowserError

VIEWS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--screenshot", metavar="DIR", type=pathlib.Path, help="write one PNG per file and view")
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    if not options.chromium:
        parser.error("no chromium found; install it or give --chromium PATH")
    missing = [str(r) for r in options.reports if not r.is_file()]
    if missing:
        parser.error("no such file: " + ", ".join(missing))
    if options.screenshot:
        options.screenshot.mkdir(parents=True, exist_ok=True)
    failed = False
    # A browser for each report, as many at a time as there are processors.
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        checked = list(pool.map(checked_alone, [options] * len(options.reports), options.reports))
    for report, (problems, charts) in zip(options.reports, checked):
        failed |= bool(problems)
        print(f"{report}: " + ("FAILED" if problems else f"ok, {charts} charts drawn in {len(VIEWS)} views"))
        for problem in problems:
            print("  " + problem)
    return 1 if failed else 0


def checked_alone(options, report):
    """As `check`; a browser that fails is a problem, too."""
    try:
        return check(options, report.resolve())
    except BrowserError as error:
        return [str(error)], 0


def check(options, report):
    """Problems in words, and the number of charts seen."""
    with Browser(options.chromium) as browser:
        theme(browser, "light")
        browser.page("Page.navigate", url=report.as_uri())
        browser.wait_for("Page.loadEventFired")
        try:
            problems, charts = views(browser, options, report)
        except BrowserError as error:  # what the page said before is worth more than that
            problems, charts = [f"the page cannot check itself: {error}"], 0
        return problems + noise(browser.events, report.as_uri()), charts


def views(browser, options, report):
    """What is wrong in each view, and the number of charts seen."""
    problems, seen = [], 0
    for scheme, width in VIEWS:
        theme(browser, scheme)
        browser.page("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        found, charts = view(browser, scheme, width)
        problems += [f"{scheme}, {width} px: {p}" for p in found]
        seen = max(seen, charts)
        if options.screenshot:
            shoot(browser, options.screenshot / f"{report.stem}-{scheme}-{width}.png")
    problems += toggle(browser)
    if browser.evaluate("'__owned' in window"):
        problems.append("a script from the report's data ran")
    return problems, seen


def theme(browser, scheme):
    browser.page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def view(browser, scheme, width):
    """What the page's own check finds in one colour scheme at one width."""
    settle = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    browser.evaluate(settle)
    state = browser.evaluate("window.__homenodeSelfCheck()")
    problems = []
    if state["theme"] != scheme:
        problems.append(f"the page is {state['theme']}")
    red, green, blue = (int(c) for c in state["background"].strip("rgb()").split(","))
    if (red + green + blue > 382) != (scheme == "light"):
        problems.append(f"the background is {state['background']}")
    if state["overflow"] > 0:
        problems.append(f"the page is {state['overflow']} px wider than the window")
    if not state["charts"]:
        problems.append("there is no chart")
    problems += state["problems"]
    for chart in state["charts"]:
        name = f"{chart['kind']} {chart['id']}"
        if chart["colours"] is not None and chart["colours"] < 2:
            problems.append(f"{name} is blank")
        if chart["marks"] < 1:
            problems.append(f"{name} has no marks")
    return problems, len(state["charts"])


def toggle(browser):
    """The button must override the preferred scheme."""
    before = browser.evaluate("document.documentElement.dataset.theme")
    after = browser.evaluate("document.getElementById('theme').click(), document.documentElement.dataset.theme")
    return [] if {before, after} == {"light", "dark"} else [f"the theme button leaves the page {after}"]


def noise(events, allowed):
    """Console errors, exceptions and requests that should not be."""
    problems = []
    for event in events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            problems.append("exception: " + (details.get("exception", {}).get("description") or details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            problems.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            problems.append("log: " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != allowed:
            problems.append("request: " + params["request"]["url"][:200])
        elif method == "Network.loadingFailed":
            problems.append("request failed: " + params.get("errorText", "?"))
    return problems


def shoot(browser, path):
    """The whole page as a picture."""
    size = browser.page("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    picture = browser.page("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    path.write_bytes(base64.b64decode(picture["data"]))


if __name__ == "__main__":
    sys.exit(main())
