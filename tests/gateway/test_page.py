"""The page at / in a real browser, driven through its DevTools protocol."""

from __future__ import annotations

import pytest

from devtools import open_tabs
from gateway.harness import KEY, configuration, hashed
from gateway.small_town import REVEALING, open_town, people

FOREIGN_KEY = "\u043a\u043b\u044e\u0447 🗝 à"
EVIL = "<img src=x onerror=\"window.hurt='yes'\"><script>window.hurt='yes'</script>"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with open_tabs(tmp_path_factory.mktemp("browser")) as new_tab:
        yield new_tab()


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
