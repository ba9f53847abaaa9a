# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium over a pipe, by the DevTools protocol."""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

SECONDS = 60


class Chromium:
    """A browser with one page. Commands are answered in order; events are kept."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="weft_chromium_")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-extensions", "--disable-component-update", "--disable-background-networking",
                     "--hide-scrollbars", f"--user-data-dir={self._folder}", "--remote-debugging-pipe", "about:blank"]
        # The browser reads its descriptor 3 and writes to 4. It ends with this program, however that ends.
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec setpriv --pdeathsig KILL "$@"'
        self._process = subprocess.Popen(["bash", "-c", script, "bash", program, *arguments], pass_fds=(to_browser, from_browser),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, "HOME": self._folder})
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        self._last_id = 0
        self._session = None
        self.events: list[dict] = []
        page = next(each for each in self.do("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self.do("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def do(self, method: str, **parameters: object) -> dict:
        """Runs a command and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(time.monotonic() + SECONDS)
            if answer.get("id") != self._last_id:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def value(self, expression: str) -> object:
        """The value of an expression of JavaScript in the page; a promise is awaited."""
        result = self.do("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Waits until the expression is true, after changes of the page."""
        self.value(
            "new Promise((done, fail) => {"
            f" const holds = () => {{ try {{ return Boolean({expression}); }} catch (_) {{ return false; }} }};"
            " if (holds()) return done();"
            " const watch = new MutationObserver(() => { if (holds()) { watch.disconnect(); done(); } });"
            " watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});"
            f" setTimeout(() => fail(new Error('not within {SECONDS // 2} s: ' + {json.dumps(expression)})), {SECONDS * 500});"
            "})")

    def open(self, url: str) -> None:
        self.do("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive(time.monotonic() + SECONDS))

    def press(self, key: str) -> None:
        """Presses a key, as a person does."""
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "Space": 32, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
        name = " " if key == "Space" else key
        common = {"key": name, "code": key, "windowsVirtualKeyCode": codes[key]}
        self.do("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.do("Input.dispatchKeyEvent", type="keyUp", **common)

    def _receive(self, until: float) -> dict:
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            bytes_read = os.read(self._read, 1 << 20)
            if not bytes_read:
                raise RuntimeError("the browser has ended")
            self._rest += bytes_read
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)
