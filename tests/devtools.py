"""A tab of a real browser, driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
import subprocess

import aiohttp
import pytest

from browser import BROWSERS, NO_BROWSER, OFFLINE
from helpers import until

PATIENCE = 60
FLAGS = (
    *OFFLINE,
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no other machine can be asked
)


class Page:
    """A tab of a browser. It notes what is requested and what goes wrong."""

    def __init__(self, loop, socket):
        self._loop = loop
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests = []
        self.all_requests = set()
        self.errors = []

    def tell(self, method, **parameters):
        """Give the browser a command; return its answer."""
        return self._loop.run_until_complete(asyncio.wait_for(self._call(method, parameters), PATIENCE))

    async def _call(self, method, parameters):
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads(await self._socket.receive_str())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            if message.get("method") == "Page.javascriptDialogOpening":
                await self._leave(message["params"])
            elif "method" in message:
                self._note(message["method"], message["params"])

    async def _leave(self, dialog):
        """Leave a page that has something unsaved, when it asks; no other dialog is expected."""
        assert dialog["type"] == "beforeunload", dialog
        command = {
            "id": next(self._numbers),
            "method": "Page.handleJavaScriptDialog",
            "params": {"accept": True},
        }
        await self._socket.send_json(command)

    def _note(self, method, message):
        if method == "Network.requestWillBeSent":
            self.requests.append(message["request"]["url"])
            self.all_requests.add(message["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(message["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and message["entry"]["level"] in {"error", "warning"}:
            self.errors.append(message["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str(message["args"]))

    def run(self, script):
        """Return what a piece of JavaScript comes to."""
        result = self.tell("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, script):
        until(lambda: self.run(script), script, PATIENCE)

    def open(self, url):
        self.requests.clear()
        self.errors.clear()
        self.tell("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.protocol.startsWith('http')")

    def type(self, selector, text):
        """Type into a field, as a person would."""
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.tell("Input.insertText", text=text)

    def press_key(self, key, code):
        """Press a key, as a person would."""
        text = {"Enter": "\r", " ": " "}.get(key)
        given = {"key": key, "windowsVirtualKeyCode": code}
        self.tell("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.tell("Input.dispatchKeyEvent", type="keyUp", **given)

    def click(self, identity):
        """Click, and wait until what it began is done."""
        place = self.run(
            f"(() => {{ const box = document.getElementById('{identity}'); box.scrollIntoView();"
            "const at = box.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            at = dict(zip("xy", place, strict=True))
            self.tell("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        self.until("![...document.querySelectorAll('button')].some(each => each.disabled)")

    def text(self, identity):
        """Return the text that a person sees; "" if it is hidden."""
        return self.run(
            f"document.getElementById('{identity}').checkVisibility() ? document.getElementById('{identity}').innerText : ''"
        )

    def list(self, identity):
        return self.run(f"[...document.getElementById('{identity}').children].map(each => each.innerText)")

    def resize(self, width):
        """Make the window so wide; a narrow one is a phone's."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def appear(self, *, width, dark=False):
        """Be so wide, in light or dark colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width)

    def shoot(self, file, *, width, dark=False):
        """Take a picture of the whole page."""
        self.appear(width=width, dark=dark)
        picture = self.tell("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))


@contextlib.contextmanager
def running_browser(folder):
    """Start a browser; yield the address of its DevTools."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(NO_BROWSER)
    process = subprocess.Popen(
        [browser, *FLAGS, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.DEVNULL
    )
    try:
        port = folder / "DevToolsActivePort"

        def is_open():
            assert process.poll() is None, "the browser did not start"
            return port.exists() and port.read_text(encoding="ascii").count("\n")

        until(is_open, "the browser starts", PATIENCE)
        yield f"http://127.0.0.1:{port.read_text(encoding='ascii').splitlines()[0]}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


async def attached(session, address):
    """Return a line to a new tab."""
    async with session.put(f"{address}/json/new?about:blank") as answer:
        tab = await answer.json()
    return await session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0)


async def _session():
    return aiohttp.ClientSession()


@contextlib.contextmanager
def open_tabs(folder, kind=Page):
    """Start a browser; yield a function that opens a tab in it."""
    with running_browser(folder) as address, asyncio.Runner() as runner:
        session = runner.run(_session())
        sockets = []

        def new_tab():
            sockets.append(runner.run(attached(session, address)))
            page = kind(runner.get_loop(), sockets[-1])
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.tell(f"{domain}.enable")
            return page

        yield new_tab
        for socket in sockets:
            runner.run(socket.close())
        runner.run(session.close())
