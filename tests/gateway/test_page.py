"""The page at / in a real browser, driven through its DevTools protocol."""

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

from browser import BROWSERS, NO_BROWSER
from gateway.harness import KEY, configuration, hashed
from gateway.small_town import REVEALING, open_town, people
from helpers import until

PATIENCE = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
FOREIGN_KEY = "\u043a\u043b\u044e\u0447 🗝 à"
EVIL = "<img src=x onerror=\"window.hurt='yes'\"><script>window.hurt='yes'</script>"


class Page:
    """A tab of a browser. It notes what is requested and what goes wrong."""

    def __init__(self, loop, socket):
        self._loop = loop
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests = []
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
            self._note(message["method"], message["params"])

    def _note(self, method, message):
        if method == "Network.requestWillBeSent":
            self.requests.append(message["request"]["url"])
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

    def click(self, identity):
        """Click, and wait until what it began is done."""
        place = self.run(
            f"(() => {{ const box = byId('{identity}'); box.scrollIntoView();"
            "const at = box.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            at = dict(zip("xy", place, strict=True))
            self.tell("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        self.until("![...document.querySelectorAll('button')].some(each => each.disabled)")

    def text(self, identity):
        """Return the text that a person sees; "" if it is hidden."""
        return self.run(f"byId('{identity}').checkVisibility() ? byId('{identity}').innerText : ''")

    def list(self, identity):
        return self.run(f"[...byId('{identity}').children].map(each => each.innerText)")

    def shoot(self, file, *, width, dark=False):
        """Take a picture of the whole page."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
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


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with running_browser(tmp_path_factory.mktemp("browser")) as address, asyncio.Runner() as runner:
        session = runner.run(_session())
        socket = runner.run(attached(session, address))
        page = Page(runner.get_loop(), socket)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.tell(f"{domain}.enable")
        yield page
        runner.run(socket.close())
        runner.run(session.close())


async def _session():
    return aiohttp.ClientSession()


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    strange = {"id": 99, **REVEALING, "income": 10, "note": EVIL, EVIL: {"deep": EVIL}}
    everybody = [
        {"name": name, "key_sha256": hashed(key)} for name, key in (("alice", KEY), ("vera", FOREIGN_KEY))
    ]
    parameters = {"county": "quasi", "secret": "block"}
    routes = [
        *configuration("", {})["routes"],
        {"path": "/few", "provider": "loans", "parameters": parameters},
    ]
    # Strict would refuse the query that gives most away: here it is to be generalized.
    changes = {"privacy": configuration("", {})["privacy"] | {"strategy": "worst-fit"}, "routes": routes}
    with open_town(
        tmp_path_factory.mktemp("town"), [strange, *people()], people=everybody, **changes
    ) as both:
        yield both


@pytest.fixture
def upstream(town):
    town[1].steer()
    return town[1]


@pytest.fixture
def page(tab, town, upstream):  # noqa: ARG001 - the provider forgets its earlier requests
    tab.open(f"http://127.0.0.1:{town[0].port}/")
    return tab


def fill(page, key=KEY, **values):
    page.type("#key", key)
    for name, value in values.items():
        page.type(f"input[name={name}]", value)


def visible_fields(page):
    fields = "[...document.querySelectorAll('[data-route] input')]"
    return sorted(page.run(f"{fields}.filter(each => each.checkVisibility()).map(each => each.name)"))


def check_nothing_wrong(page):
    assert page.run("document.title")  # all pending messages have arrived now
    assert page.errors == []
    assert page.run("window.hurt ?? 'no'") == "no"
    (origin,) = {url.split("/")[2] for url in page.requests}
    assert origin == page.run("location.host")


def test_loads_alone_and_without_a_complaint(page):
    assert page.run("document.title") == "incrowd: what would be sent?"
    assert [url.rpartition("/")[2] for url in page.requests] == [""]
    assert visible_fields(page) == ["county", "email", "gender", "income", "q", "race"]
    assert not page.text("disclosure")
    assert not page.text("problem")
    check_nothing_wrong(page)


def test_says_beforehand_what_becomes_of_each_field(page):
    labels = (
        "[...document.querySelectorAll('[data-route=\"/loans\"]')].map(each => each.innerText.split('\\n'))"
    )
    assert dict(page.run(labels)) == {
        **dict.fromkeys(REVEALING, "sent only as far as your policy allows"),
        "income": "never sent, since it is protected",
        "q": "sent unchanged",
        "email": "never sent",
    }


def test_its_policy_lets_no_other_script_run_and_nothing_leave(page):
    page.run("""{ const made = document.createElement('script');
        made.textContent = "window.hurt = 'yes'"; document.body.append(made); }""")
    assert page.run("window.hurt ?? 'no'") == "no"
    assert page.run("fetch('http://127.0.0.1:9/').then(() => 'left', () => 'stayed')") == "stayed"
    page.run("document.title")
    assert len(page.errors) >= 2


def test_shows_what_would_be_sent_before_anything_is(page, upstream):
    fill(page, **REVEALING, email="me@example.org")
    page.click("preview")
    assert page.text("disclosure-title") == "This would be sent"
    assert page.list("sent") == ["county = Essex", "race = Black"]
    assert page.list("held") == ["gender", "email"]
    assert page.list("guesses") == ["income\t2.00\t1.50\t3.00"]
    assert "gender dropped" in page.text("reason")
    assert not page.text("answer")
    assert upstream.received == []
    check_nothing_wrong(page)


def test_sends_by_the_keyboard_nothing(page, upstream):
    fill(page, **REVEALING)
    page.tell("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13)
    page.until("!byId('disclosure').hidden")
    assert page.text("disclosure-title") == "This would be sent"
    assert upstream.received == []


def test_sends_and_shows_the_exact_answer(page, upstream):
    fill(page, **REVEALING, q="x")
    page.click("send")
    assert page.text("disclosure-title") == "This was sent"
    assert page.list("sent") == ["q = x", "county = Essex", "race = Black"]
    assert page.text("answer-title") == "The exact answer to your query"
    head, first, *others = page.list("rows")
    assert head.split("\t")[:5] == ["id", *REVEALING, "income"]
    assert first.split("\t")[:5] == ["99", *REVEALING.values(), "10"]
    assert [line.split("\t")[0] for line in others] == ["1", "2"]
    assert page.text("answer-note").startswith("3 rows")
    (request,) = upstream.received
    assert request["query"] == [["q", "x"], ["county", "Essex"], ["race", "Black"]]
    check_nothing_wrong(page)


def test_a_query_that_tells_nothing(page):
    fill(page, income="10")
    page.click("preview")
    assert page.text("disclosure-label") == "The provider learns nothing: the query is for all rows."
    assert page.list("held") == ["income"]


def test_each_route_has_its_own_fields(page, upstream):
    fill(page, **REVEALING)
    page.run("byId('route').value = '/few'; byId('route').dispatchEvent(new Event('change'))")
    assert visible_fields(page) == ["county", "secret"]
    page.type("[data-route='/few'] [name=secret]", "s")
    page.click("send")
    assert page.list("sent") == []
    assert page.list("held") == ["secret"]
    (request,) = upstream.received
    assert request["query"] == []


@pytest.mark.parametrize("button", ["preview", "send"])
def test_a_wrong_key_is_said_and_shows_nothing_old(page, upstream, button):
    fill(page, **REVEALING)
    page.click("preview")
    fill(page, key="somebody else's")
    page.click(button)
    assert "a valid key is needed" in page.text("problem")
    assert not page.text("disclosure")
    assert not page.text("answer")
    assert upstream.received == []


def test_an_unknown_value_and_a_stopped_gateway_are_reported(page):
    fill(page, county="Atlantis")
    page.click("preview")
    assert "'county' has no such value" in page.text("problem")
    page.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    page.click("preview")
    assert page.text("problem")


def test_values_are_never_html(page):
    fill(page, **REVEALING, q=EVIL)
    page.click("send")
    assert f"q = {EVIL}" in page.list("sent")
    assert EVIL in page.text("rows")
    assert not page.run("document.querySelectorAll('main img, main script').length")
    check_nothing_wrong(page)


def test_a_key_may_have_any_characters(page):
    fill(page, key=FOREIGN_KEY, **REVEALING)
    page.click("preview")
    assert page.list("sent") == ["county = Essex", "race = Black"]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_fits_wide_and_narrow_screens(page, tmp_path, width, dark):
    fill(page, **REVEALING, email="me@example.org")
    page.click("send")
    picture = tmp_path / "page.png"
    page.shoot(picture, width=width, dark=dark)
    assert picture.stat().st_size > 10_000
    assert page.run("document.documentElement.scrollWidth") <= width
    back = page.run("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(16, 20, 26)") == dark
    page.tell("Emulation.clearDeviceMetricsOverride")
