"""A headless Chromium, spoken to over a pipe with the standard library alone."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60.0  # seconds for one answer

_KEYS = {
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "End": 35,
    "Home": 36,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "Tab": 9,
}


class Chromium:
    """One browser with one page. `said` holds what the page wrote to the console, `asked` what it
    tried to load.
    """

    def __init__(self, profile: Path, *, script: bool = True) -> None:
        assert PROGRAM is not None
        self._ids = 0
        self._unread = b""
        self.said: list[str] = []
        self.asked: list[str] = []
        self._process, self._out, self._in = _started(profile)
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session: str | None = self.ask(
            "Target.attachToTarget", {"targetId": target, "flatten": True}
        )["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        if not script:
            self.ask("Emulation.setScriptExecutionDisabled", {"value": True})

    _session = None

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._ids += 1
        message: dict[str, Any] = {"id": self._ids, "method": method, "params": params or {}}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._ids:
            pass
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            assert ready, "Chromium gives no answer"
            more = os.read(self._in, 1 << 20)
            assert more, "Chromium ended"
            self._unread += more
        first, self._unread = self._unread.split(b"\0", 1)
        message: dict[str, Any] = json.loads(first)
        self._note(message.get("method"), message.get("params") or {})
        return message

    def _note(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    # -------------------------------------------------------------------------------------------------
    # what a person does

    def open(self, url: str, *, wide: int = 1280, high: int = 900, dark: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": wide < 500},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.ask("Page.navigate", {"url": "about:blank"})
        self.ask("Page.navigate", {"url": url})
        self.until(lambda: self.run("document.readyState") == "complete")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        for key in keys:
            what = {
                "key": key,
                "code": "Space" if key == " " else key,
                "windowsVirtualKeyCode": _KEYS.get(key, 0),
            }
            text = {"text": "\r" if key == "Enter" else key} if key in ("Enter", " ") else {}
            self.ask("Input.dispatchKeyEvent", {"type": "keyDown", **what, **text})
            self.ask("Input.dispatchKeyEvent", {"type": "keyUp", **what})

    def type(self, words: str) -> None:
        self.ask("Input.insertText", {"text": words})

    def until(self, holds: Callable[[], Any]) -> None:
        """Waits for something that comes by itself, such as a filter after the last letter."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, "it did not come"
            time.sleep(0.02)

    def shot(self, path: Path) -> None:
        data = self.ask("Page.captureScreenshot", {"format": "png"})["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        os.close(self._out)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)


def _started(profile: Path) -> tuple[subprocess.Popen[bytes], int, int]:
    """Chromium reads its orders from file descriptor 3 and answers on 4."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    read, write = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (their_in, their_out))

    def place() -> None:
        os.dup2(read, 3)
        os.dup2(write, 4)

    process = subprocess.Popen(
        [PROGRAM or "", *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=place,
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": str(profile)},
    )
    for one in (their_in, their_out, read, write):
        os.close(one)
    return process, our_out, our_in


_OPTIONS: Sequence[str] = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
