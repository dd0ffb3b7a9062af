"""The little of the Chrome DevTools protocol that the report test needs, over a pipe (no port, no package)."""

import json
import os
import select
import subprocess
import tempfile
import time

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
]


class BrowserError(Exception):
    """The browser ended, did not answer in time or refused a command."""


class Browser:
    """One headless browser with an empty profile and one page. Use as a context manager."""

    def __init__(self, binary, timeout=60.0):
        self.timeout, self.events, self._next, self._buffer = timeout, [], 0, b""
        self._profile = tempfile.TemporaryDirectory(prefix="homenode-browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._process = self._start(binary, to_browser, from_browser)
        os.close(to_browser)
        os.close(from_browser)

    def _start(self, binary, to_browser, from_browser):
        def place():  # the browser reads commands from descriptor 3 and writes to 4
            spare = [os.dup(to_browser), os.dup(from_browser)]
            high = [os.dup2(spare[0], 100), os.dup2(spare[1], 101)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [binary, *FLAGS, "--user-data-dir=" + self._profile.name, "about:blank"]
        devnull = subprocess.DEVNULL
        return subprocess.Popen(
            command, stdin=devnull, stdout=devnull, stderr=devnull, preexec_fn=place, close_fds=False, start_new_session=True
        )

    def __enter__(self):
        targets = self.command("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.command("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.page(domain + ".enable")
        return self

    def __exit__(self, *_):
        try:
            self.command("Browser.close")
        except (BrowserError, OSError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def command(self, method, session=None, **params):
        """Sends one command and returns its result; events that come in between are kept."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._read(deadline, method)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self.events.append(answer)

    def page(self, method, **params):
        """A command to the page."""
        return self.command(method, session=self._session, **params)

    def wait_for(self, event):
        """Waits until an event of this name has been seen."""
        deadline = time.monotonic() + self.timeout
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._read(deadline, event))

    def evaluate(self, expression):
        """The JSON value of a JavaScript expression; a promise is awaited."""
        out = self.page("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in out:
            details = out["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details.get("text"))
        return out["result"].get("value")

    def _read(self, deadline, waiting_for):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrowserError(f"no answer to {waiting_for} within {self.timeout:.0f} s")
            if select.select([self._in], [], [], left)[0]:
                chunk = os.read(self._in, 1 << 20)
                if not chunk:
                    raise BrowserError(f"the browser ended while {waiting_for} was under way")
                self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)
