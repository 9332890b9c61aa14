"""Headless Chromium, driven over a pipe: what it shows, asks for and complains about."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "no Chromium here: apt-get install chromium"
_QUIET = ("Page.loadEventFired",)


class Browser:
    """One page of a browser, and what came of it."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive, self._rest, self._number = send, receive, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer; what else arrives is kept."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._send, json.dumps(asked).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return message["result"]  # type: ignore[no-any-return]
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._receive, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)  # type: ignore[no-any-return]

    def open(self, page: Path, width: int = 1400, *, dark: bool = False) -> None:
        """Open a page and wait until it is loaded."""
        self.events.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event.get("method") in _QUIET for event in self.events):
            self.events.append(self._message())

    def value(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Click the middle of an element, as a hand would."""
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        place = {"x": self.value(f"{box}.left + 8"), "y": self.value(f"{box}.top + {box}.height / 2")}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def complaints(self) -> list[str]:
        """What was said on the console."""
        said = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in said]

    def requests(self) -> list[str]:
        """What was asked for beside the page itself and what stands in it."""
        sent = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        found = [one["request"]["url"] for one in sent]
        return [url for url in found[1:] if not url.startswith("data:")]

    def picture(self, file: Path) -> None:
        """Write a picture of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def printed(self) -> bytes:
        """Print the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose profile is in a folder; it ends with the block."""
    assert CHROMIUM is not None
    to_child, send = os.pipe()
    receive, from_child = os.pipe()
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]
    words += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}"]
    # the browser reads from 3 and writes to 4; a shell puts the ends of our pipes there
    shell = f'exec 3<&{to_child} 4>&{from_child}; exec "$0" "$@"'
    child = subprocess.Popen(
        ["bash", "-c", shell, CHROMIUM, *words],
        pass_fds=(to_child, from_child),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_child)
    os.close(from_child)
    try:
        yield Browser(send, receive)
    finally:
        os.close(send)
        child.kill()
        child.wait()
        os.close(receive)
