"""The curves on Choose: estimated on a sample, in a process of their own, and kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from types import SimpleNamespace

import msgspec
import pytest
from msgspec.structs import replace

from helpers import until
from incrowd.errors import BadInputError
from incrowd.jobs.estimate import estimate, sample_of
from incrowd.jobs.spec import Options, read_choices
from incrowd.logs import InputForm, read_parts
from incrowd.studio import curves
from incrowd.studio.curves import Curves, show, wanted_of
from incrowd.studio.estimating import Answer, Estimator, Request
from incrowd.studio.folder import Folder, write_struct
from incrowd.studio.projects import change_project, make_project


def test_a_sample_is_the_same_each_time_and_k_costs_words(log, tmp_path):
    options = Options(str(log), tmp_path / "out", goal="people")
    sample = sample_of(options, people=20)
    assert (sample.people, sample.read, sample.is_all) == (20, 20, True)
    assert sample.singled_out == 0  # all of them have the same words
    job = read_choices(options)
    point = estimate(sample, job, 5)
    assert (point.kept, point.singled_out) == (1, 0)
    assert estimate(sample, job, 25) is None  # there are not so many people
    assert estimate(sample_of(options, people=20), job, 5) == point
    assert sample_of(options, people=3).people == 3


def test_only_the_beginning_of_a_large_log_is_read(log):
    def lines(**how):
        with read_parts(str(log), InputForm(), block_bytes=600, **how) as opened:
            return opened.rows

    assert 0 < lines(first_bytes=600) < lines() == 60


def test_a_curve_is_kept_by_what_it_depends_on(log, tmp_path):
    folder = Folder(tmp_path / "work")
    project = make_project(folder, str(log), name="log")
    first = wanted_of(folder, project, {"k": "5", "cap": "3"})
    assert wanted_of(folder, project, {"k": "7", "cap": "3", "title": "x"}).path == first.path
    other = wanted_of(folder, project, {"k": "5", "cap": "2"})
    assert other.path != first.path
    assert other.sample == first.sample  # the method's own dial: the sample is not read again
    assert wanted_of(folder, project, {"items": "nouns"}).sample != first.sample
    read_so = change_project(folder, project, reading={"user": "AnonID"})
    assert wanted_of(folder, read_so, {"k": "5", "cap": "3"}).path != first.path
    assert wanted_of(folder, replace(project, source=str(tmp_path / "none")), {}).path != first.path
    assert wanted_of(folder, project, {"k": "x"}).k is None


@pytest.mark.parametrize("name", ["taxonomy", "never"])
def test_what_no_file_can_be_called_changes_the_curve_and_breaks_nothing(folder, log, name):
    project = make_project(folder, str(log), name="log")
    other = wanted_of(folder, project, {name: "x" * 300})
    assert other.path != wanted_of(folder, project, {}).path


def test_a_log_may_have_a_name_that_is_not_utf_8(folder, log, tmp_path):
    directory = tmp_path / "logs"
    directory.mkdir()
    odd = os.fsdecode(os.fsencode(directory) + b"/l\xe9g.tsv")
    shutil.copyfile(log, odd)
    project = make_project(folder, str(directory), name="logs")
    before = wanted_of(folder, project, {}).path
    os.utime(odd, (0, 0))
    assert wanted_of(folder, project, {}).path != before


def test_a_dial_moves_the_mark_on_the_page(studio, tab, log):
    folder = Folder(studio.folder)
    project = change_project(folder, make_project(folder, str(log), name="curve"), choices={"goal": "people"})
    tab.visit(f"{studio.home}/p/{project.id}/choose")
    tab.until_shown("Estimated on a sample of 20 people", "#curves")
    tab.until("document.querySelector('#curves .picked th')?.innerText.startsWith('5')")
    tab.until("document.querySelector('#curves .chart svg') !== null")
    assert tab.shown("#lines").startswith("Command line")  # and is where it was
    tab.run("""{ const k = document.getElementById('f-k'); k.value = '10';
        k.dispatchEvent(new Event('input', {bubbles: true})); }""")
    tab.until("document.querySelector('#curves .picked th')?.innerText.startsWith('10')")
    tab.until("!document.querySelector('#curves [hx-get]')")  # all of it is there
    (answer,) = (studio.folder / "projects" / project.id / "curves").iterdir()  # the same for every k
    assert set(json.loads(answer.read_text())["points"]) == {"2", "5", "10", "25", "50"}
    assert not tab.errors


def test_a_request_without_points_reads_the_sample_and_writes_nothing(log, tmp_path):
    """A curve that is known shows that its dials may move next."""
    folder = Folder(tmp_path / "work")
    wanted = wanted_of(folder, make_project(folder, str(log), name="log"), {"goal": "people"})
    estimator = Estimator()
    request = Request(project=wanted.project, sample=wanted.sample, ks=[], path=str(wanted.path))
    assert list(estimator.answers(request)) == []
    assert list(estimator._samples) == [wanted.sample]
    broken = replace(request, project=replace(wanted.project, source="/none"), sample="other")
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in (broken, request))
    command = [sys.executable, "-m", "incrowd.studio.estimating"]
    ran = subprocess.run(command, input=lines, capture_output=True, check=True)
    assert ran.stdout == b"done\ndone\n"
    assert not wanted.path.exists()


@pytest.mark.parametrize("broken", ["_start", "write_struct"])
@pytest.mark.parametrize("error", [OSError("full"), BadInputError("full")], ids=["system", "atomic"])
def test_curves_go_on_when_there_is_space_again(folder, log, monkeypatch, broken, error):
    """A process that cannot be started, or an answer that cannot be written, is no reason to answer no more."""
    wanted = wanted_of(folder, make_project(folder, str(log), name="log"), {})
    request = Request(project=wanted.project, sample="", ks=[5], path=str(wanted.path))
    full, working = threading.Event(), getattr(curves, broken)

    def once_broken(*given):
        if not full.is_set():
            full.set()
            raise error
        return working(*given)

    monkeypatch.setattr(curves.sys, "executable", "true")  # a process that ends at once
    monkeypatch.setattr(curves, "IDLE_SECONDS", 0.5)
    monkeypatch.setattr(curves, broken, once_broken)
    asked = Curves()
    asked.ask(request)
    until(full.is_set, "it is broken")
    until(lambda: asked._busy is None, "the next one can be asked for")
    asked.ask(request)
    until(wanted.path.exists, "the next answer")
    until(lambda: asked._thread is None, "it has nothing to do")


def test_a_page_whose_curve_is_known_has_its_sample_read(log, tmp_path, monkeypatch):
    folder = Folder(tmp_path / "work")
    project = make_project(folder, str(log), name="known")
    wanted = wanted_of(folder, project, {"k": "5"})
    points = dict.fromkeys(map(str, wanted.ks), (1.0, 1.0, 0.0))
    write_struct(wanted.path, Answer(points=points, people=1, read=1))
    asked = []
    monkeypatch.setattr(Curves, "ask", lambda _, request: asked.append(request.ks))
    app = SimpleNamespace(state=SimpleNamespace(studio=SimpleNamespace(folder=folder)))
    show(SimpleNamespace(app=app, path_params={"project": project.id}, query_params={"k": "5"}))
    wanted.path.unlink()
    show(SimpleNamespace(app=app, path_params={"project": project.id}, query_params={"k": "5"}))
    assert asked == [[], wanted.ks]
