"""Who may not come in: other hosts, other sites, other people, and those who come too late."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from devtools import PATIENCE
from helpers import until, visible
from studio.harness import running_studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio into which only a program has come."""
    with running_studio(tmp_path_factory.mktemp("guarded") / "work") as running:
        running.said = running.sign_in()
        yield running


def test_a_token_is_exchanged_once_for_a_strict_cookie(studio):
    assert "HttpOnly" in studio.said
    assert "SameSite=strict" in studio.said
    status, headers, text = studio.ask("GET", f"/enter?token={studio.token}")
    assert (status, headers["Set-Cookie"]) == (403, None)
    assert "incrowd studio" in text  # the remedy
    assert studio.ask("GET", "/")[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/enter?token=wrong", "/enter", "/events", "/static/studio.js", "/p/x/data"]
)
def test_without_a_session_there_is_nothing(studio, path):
    for cookie in (None, studio.cookie[:-1] + "x", studio.cookie.partition("=")[0] + "=", "\\"):
        status, headers, text = studio.ask("GET", path, Cookie=cookie)
        assert (status, headers["Set-Cookie"]) == (403, None)
        assert "project" not in text.lower()


@pytest.mark.parametrize("host", ["localhost", "evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_of_this_machine_is_refused(studio, host):
    """A page elsewhere may let its name lead here: its requests carry that name."""
    assert studio.ask("GET", "/", Host=host or None)[0] in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null", None])
def test_only_its_own_pages_may_post(studio, origin):
    status, _, _ = studio.ask("POST", "/projects/sample", Origin=origin)
    assert status == 403
    assert not list((studio.folder / "projects").iterdir())


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_do_not_even_read(studio, site):
    assert studio.ask("GET", "/", Origin=None, Sec_Fetch_Site=site)[0] == 403
    assert studio.ask("GET", "/", Origin=None, Sec_Fetch_Site="same-origin")[0] == 200


def test_every_answer_carries_the_rules(studio):
    for path in ("/", "/nothing", "/enter?token=x", "/static/htmx.js"):
        _, headers, _ = studio.ask("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/releases/..%2F..%2Fetc/report.html",
        "/p/..%2Fdoor/data",
        "/static/..%2Fapp.py",
        "/releases/x/manifest.html",
    ],
)
def test_addresses_lead_to_nothing_else(studio, path):
    status, _, text = studio.ask("GET", path)
    assert status == 404
    assert "Your projects" in text


def test_a_file_that_is_too_large_is_refused_before_it_comes(studio):
    status, _, text = studio.ask("PUT", "/projects/dropped?name=..%2Flog.tsv", Content_Length=str(3 * 10**8))
    assert status == 422
    assert "give the path" in text
    assert not list((studio.folder / "inputs").iterdir())


def test_a_form_that_is_too_long_is_refused(studio):
    status, _, text = studio.ask("POST", "/projects", "path=" + "x" * 300_000)
    assert (status, "That is too long" in text) == (413, True)


def test_it_listens_on_this_machine_alone(studio):
    port = int(studio.host.partition(":")[2])
    listening = Path("/proc/net/tcp").read_text(encoding="ascii").upper()
    assert f"0100007F:{port:04X} 00000000:0000 0A" in listening
    assert f"00000000:{port:04X} 00000000:0000 0A" not in listening


def test_a_second_start_gives_a_new_address_of_the_first(studio):
    command = [sys.executable, "-m", "incrowd", "studio", studio.folder, "--no-browser", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert said["running"] is True
    assert said["address"].startswith(studio.home)
    status, headers, _ = studio.ask(
        "GET", said["address"].removeprefix(studio.home), Origin=None, Cookie=None
    )
    assert (status, bool(headers["Set-Cookie"])) == (200, True)


def test_what_is_kept_is_for_its_owner_alone(studio):
    for path in (studio.folder, *studio.folder.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path
    for path in (studio.folder / "door").iterdir():
        assert studio.token not in path.name + path.read_text(encoding="utf-8")


class Elsewhere(BaseHTTPRequestHandler):
    """Another site on this machine, whose page tries to reach the studio."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = b"<!doctype html><title>elsewhere</title>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def elsewhere():
    """Serve another site; it notes in ``asked`` what it was asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def signed_in(studio, new_tab):
    """Return a tab that is signed in."""
    tab = new_tab()
    name, _, value = studio.cookie.partition("=")
    tab.tell("Network.setCookie", name=name, value=value, url=studio.home, httpOnly=True, sameSite="Strict")
    tab.open(studio.home)
    tab.until_shown("Your projects")
    return tab


def test_what_a_page_would_ask_of_another_site_is_blocked(studio, new_tab):
    tab = signed_in(studio, new_tab)
    with elsewhere() as server:
        site = f"http://127.0.0.1:{server.server_port}"
        blocked = tab.run(
            f"""new Promise(done => {{ const seen = new Set();
            addEventListener('securitypolicyviolation', event => {{ seen.add(event.effectiveDirective); if (seen.size === 6) done([...seen].sort()); }});
            fetch('{site}/fetch').catch(() => 0);
            const add = (name, given) => document.body.append(Object.assign(document.createElement(name), given));
            add('img', {{src: '{site}/image'}}); add('script', {{src: '{site}/script'}}); add('iframe', {{src: '{site}/frame'}});
            add('link', {{rel: 'stylesheet', href: '{site}/style'}}); add('form', {{action: '{site}/form', id: 'out'}});
            document.getElementById('out').submit(); }})"""
        )
        assert server.asked == []
    assert blocked == [
        "connect-src",
        "form-action",
        "frame-src",
        "img-src",
        "script-src-elem",
        "style-src-elem",
    ]


def test_another_sites_page_cannot_reach_it(studio, new_tab):
    tab = signed_in(studio, new_tab)
    with elsewhere() as server:
        tab.open(f"http://127.0.0.1:{server.server_port}/")
        for how in ("{credentials: 'include'}", "{method: 'POST', mode: 'no-cors', credentials: 'include'}"):
            tab.run(
                f"fetch('{studio.home}/projects/sample', {how}).then(a => a.text()).catch(() => 'refused')"
            )
        read = tab.run(
            f"fetch('{studio.home}/', {{credentials: 'include'}}).then(a => a.text()).catch(() => 'refused')"
        )
        assert read == "refused"
        tab.run(
            f"""{{ const form = document.createElement('form'); form.method = 'post'; form.action = '{studio.home}/projects/sample';
            document.body.append(form); form.submit(); }}"""
        )
        tab.until("document.body.innerText.includes('its own pages alone')")
        frame = f"""new Promise(done => {{ const frame = document.createElement('iframe'); frame.src = '{studio.home}/';
            frame.onload = () => done(frame.contentDocument === null); document.body.append(frame); }})"""
        tab.open(f"http://127.0.0.1:{server.server_port}/")
        assert tab.run(frame) is True
    assert not list((studio.folder / "projects").iterdir())


def test_a_file_whose_tab_is_closed_half_way_leaves_nothing(studio):
    before = visible(studio.folder / "inputs")
    head = f"PUT /projects/dropped?name=half.tsv HTTP/1.1\r\nHost: {studio.host}\r\nOrigin: {studio.home}\r\nCookie: {studio.cookie}\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(studio.host.split(":"), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + b"some of it")
        until(lambda: list((studio.folder / "inputs").glob("half*/*")), "the file was begun", PATIENCE)
    until(lambda: visible(studio.folder / "inputs") == before, "what came of it is gone", PATIENCE)
