"""A studio as its owner starts it, and a tab that fills in its pages."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from urllib.parse import urlencode, urlsplit

from devtools import PATIENCE, Page
from helpers import until
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import all_jobs, jobs_of, progress_of, state_of
from incrowd.studio.projects import make_project, read_project

__all__ = [
    "AOL_HEADER",
    "Studio",
    "Tab",
    "Work",
    "cookies_of",
    "go_on",
    "job_process",
    "running_studio",
    "stop_the_job",
]

AOL_HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


class Tab(Page):
    """A tab that goes from page to page."""

    def until(self, script):
        """Wait until a script says yes; a page that is being left says nothing."""
        until(lambda: self._asked(script), script, PATIENCE)

    def _asked(self, script):
        try:
            return self.run(script)
        except AssertionError:
            return False

    def visit(self, address):
        """Open a page of the studio, and wait until it listens."""
        self.open(address)
        self.until("document.readyState === 'complete' && typeof known === 'object'")

    def press(self, selector):
        """Press a button or a link that leads to another page, and wait for it."""
        self.run("window.left = false; true")
        self.run(f"document.querySelector({json.dumps(selector)}).click(); true")
        self.until("window.left === undefined && document.readyState === 'complete'")

    def shown(self, selector="main"):
        """Return the text that a person sees in a part of the page; "" if it is not there, or hidden."""
        return self.run(f"{_seen(selector)}")

    def until_shown(self, text, selector="main"):
        self.until(f"{_seen(selector)}.includes({json.dumps(text)})")


def _seen(selector):
    return f"[...document.querySelectorAll({json.dumps(selector)})].slice(0, 1).map(one => one.checkVisibility() ? one.innerText : '').join()"


class Studio:
    """A studio that runs."""

    def __init__(self, process, opened, folder):
        self.process = process
        self.folder = folder
        self.entrance = opened["address"]
        self.host = urlsplit(self.entrance).netloc
        self.home = f"http://{self.host}"
        self.token = self.entrance.partition("token=")[2]
        self.cookie = ""

    def ask(self, method, path, body=None, **headers):
        """Send a request as a program does; headers may be None to be left out. Return status, headers and text."""
        given = {"Host": self.host, "Cookie": self.cookie, "Origin": self.home} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name, value)
        data = (body or "").encode()
        if "Content-Length" not in given:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, answer.headers, text

    def post(self, address, /, **fields):
        """Send a form, as a page of its own does."""
        return self.ask("POST", address, urlencode(fields), Content_Type="application/x-www-form-urlencoded")

    def sign_in(self):
        """Exchange the token for a session."""
        status, headers, _ = self.ask("GET", f"/enter?token={self.token}", Origin=None)
        assert status == 200
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        return headers["Set-Cookie"]


def start_studio(folder, *options, port=0):
    """Start a studio; return it once it answers."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "incrowd",
            "studio",
            folder,
            "--no-browser",
            "--json",
            f"--port={port}",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    said = ""
    while not said.endswith("}\n"):
        line = process.stdout.readline()
        assert line, f"the studio did not start: {said}"
        said += line
    return Studio(process, json.loads(said), folder)


@contextlib.contextmanager
def running_studio(folder, *options, port=0):
    """Start a studio, and stop it in the end."""
    studio = start_studio(folder, *options, port=port)
    try:
        yield studio
    finally:
        studio.process.terminate()
        studio.process.wait(PATIENCE)
        studio.process.stdout.close()


class Work:
    """A project, and requests to its screens."""

    def __init__(self, studio, path, name):
        self.studio, self.folder = studio, Folder(studio.folder)
        self.id = make_project(self.folder, str(path), name=name).id
        self.home = f"{studio.home}/p/{self.id}"

    @property
    def project(self):
        return read_project(self.folder, self.id)

    def get(self, path):
        status, _, text = self.studio.ask("GET", f"/p/{self.id}/{path}")
        assert status == 200, text
        return text

    def post(self, path, **fields):
        return self.studio.post(f"/p/{self.id}/{path}", **fields)

    def run(self, path, kind):
        """Press the button of a job, and wait until it is done."""
        assert self.post(path)[0] == 303
        (job, *_) = jobs_of(self.folder, self.id, kind)
        until(lambda: state_of(self.folder, job.id).ended is not None, kind, 120)
        assert state_of(self.folder, job.id).status == "done"


def cookies_of(tab, studio):
    """Return what a tab that is signed in sends."""
    found = tab.tell("Network.getCookies", urls=[studio.home])["cookies"]
    return "; ".join(f"{one['name']}={one['value']}" for one in found)


def job_process(folder):
    """Return the process of the job that runs; None if there is none."""
    return next(filter(None, (state_of(folder, job.id).process for job in all_jobs(folder))), None)


def stop_the_job(folder, *, steps=1):
    """Let the job that runs stand still, once it has begun so many steps."""
    process = until(lambda: job_process(folder), "the job runs")
    (job,) = (job for job in all_jobs(folder) if state_of(folder, job.id).process == process)
    until(lambda: len(progress_of(folder, job.id).steps) >= steps, "the job has begun")
    os.kill(process, signal.SIGSTOP)


def go_on(folder):
    if process := job_process(folder):
        os.kill(process, signal.SIGCONT)
