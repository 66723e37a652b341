"""A headless Chromium for tests, controlled through a pipe (the DevTools protocol)."""

import base64
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager

from tests.support.waiting import running, wait_until

_ARGUMENTS = (
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
_ANSWER_S = 60

# What the browser answers while it goes from one page to the next.
_GONE = (
    "Inspected target navigated or closed",
    "Execution context was destroyed.",
    "Cannot find default execution context",
)


class PageLeftError(Exception):
    """The page that was asked is no longer there."""


class TestBrowser:
    """One page of a browser; `script` returns the value of an expression."""

    __test__ = False

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._buffer, self._number = read, write, b"", 0
        self._session = None
        self.messages: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _ANSWER_S
        while time.monotonic() < end:
            answer = self._receive(end - time.monotonic())
            if answer.get("id") == self._number:
                error = answer.get("error")
                if error and error["message"] in _GONE:
                    raise PageLeftError(error["message"])
                assert not error, error
                return answer["result"]
            self.messages.append(answer)
        raise TimeoutError(method)

    def _receive(self, limit_s: float) -> dict:
        import select

        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(limit_s, 0))
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise TimeoutError("the browser does not answer")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def script(self, expression: str):
        """The value of an expression; evaluated again if another page was loaded meanwhile."""
        end = time.monotonic() + _ANSWER_S
        while True:
            try:
                return self._evaluate(expression)
            except PageLeftError:
                assert time.monotonic() < end, "one page after the other is loaded"

    def _evaluate(self, expression: str):
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true; it may fail while a page is being loaded."""
        wait_until(lambda: self._is_true(expression))

    def _is_true(self, expression: str) -> bool:
        try:
            answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        except PageLeftError:
            return False
        return bool(answer["result"].get("value"))

    def text(self) -> str:
        return self.script("document.body?.innerText")

    def wait_for_text(self, text: str) -> None:
        try:
            self.wait_for(f"document.body && document.body.innerText.includes({json.dumps(text)})")
        except AssertionError:
            raise AssertionError(f"{text!r} is not on the page:\n{self.text()}") from None

    def click(self, label: str, *, hold_until: str = "true") -> None:
        """Click the first visible button or link with this text, as a mouse does, once it is there.
        The button of the mouse is held down until the expression `hold_until` is true.
        """
        find = f"""(() => {{
              // Nobody clicks a page without its styles: what they move would not be hit.
              if (document.readyState !== "complete") return null;
              const all = [...document.querySelectorAll("button, a, label")];
              const one = all.find((node) => node.innerText.trim() === {json.dumps(label)});
              // Questions that have just appeared take no clicks.
              const guarded = "guarded" in document.documentElement.dataset;
              if (!one || (guarded && one.closest(".question"))) return null;
              one.scrollIntoView({{block: "center"}});
              const box = one.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        try:
            found = wait_until(lambda: self.script(find))
        except AssertionError:
            raise AssertionError(f"nothing to click says {label!r}:\n{self.text()}") from None
        self._press(found, hold_until)

    def click_at(self, selector: str) -> None:
        """Click the middle of an element."""
        found = self.script(
            f"""(() => {{
              const one = document.querySelector({json.dumps(selector)});
              one.scrollIntoView({{block: "center"}});
              const box = one.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        self._press(found)

    def _press(self, place: list[float], hold_until: str = "true") -> None:
        for kind in ("mousePressed", "mouseReleased"):
            if kind == "mouseReleased":
                self.wait_for(hold_until)
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def type_into(self, selector: str, text: str) -> None:
        self.script(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def press_enter(self) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key="Enter",
                code="Enter",
                text="\r",
                windowsVirtualKeyCode=13,
            )

    def resize(self, width: int = 1200, height: int = 800) -> None:
        """Give the page a size, in pixels of the picture."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def save_screenshot(self, path, width: int = 1200, height: int = 800) -> None:
        """A picture of the page as PNG."""
        self.resize(width, height)
        data = self.call("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def open_browser(profile):
    """A browser with an empty profile, ended with the block."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    program = shutil.which("chromium-headless-shell")
    command = [program, *_ARGUMENTS, f"--user-data-dir={profile}"]

    # The browser reads commands from 3 and writes answers to 4.
    shell = ["sh", "-c", f'exec "$@" 3</dev/fd/{to_read} 4>/dev/fd/{from_write}', "sh", *command]
    process = subprocess.Popen(
        shell,
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        with running(process):
            yield TestBrowser(from_read, to_write)
    finally:
        os.close(from_read)
        os.close(to_write)
