"""Odd input, damaged and planted files, other users, a full disk: each is refused in one line, and does no harm to the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

from helpers import until
from incrowd.errors import BadInputError
from incrowd.studio import runner, serve
from incrowd.studio.door import SESSION_SECONDS, TOKEN_SECONDS, Door
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import (
    State,
    add_job,
    all_jobs,
    jobs_of,
    progress_of,
    result_of,
    state_of,
    write_state,
)
from incrowd.studio.projects import change_project, make_project, read_project
from incrowd.studio.releases import all_releases, new_places, read_release, zipped
from studio.harness import running_studio

SAYS = "import sys; print('{}')"
WAITS = "import time; time.sleep(100)"
HOUR = 3600


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running_studio(tmp_path_factory.mktemp("attacked") / "work") as running:
        running.sign_in()
        yield running


@pytest.fixture(scope="module")
def released(studio, baskets):
    """A project with a release."""
    folder = Folder(studio.folder)
    project = make_project(folder, str(baskets), name="baskets.dat")
    change_project(folder, project, choices={"goal": "people", "k": "3"})
    assert studio.post(f"/p/{project.id}/run")[0] == 303
    done(folder, jobs_of(folder, project.id, "release")[0])
    (release,) = all_releases(folder)
    return project, release


def done(folder, job):
    until(lambda: state_of(folder, job.id).ended is not None, f"job {job.id} ends", 120)
    assert state_of(folder, job.id).status == "done", result_of(folder, job.id)


@pytest.mark.parametrize("argument", ["a\0b", "x" * 200_000], ids=["no character", "too long"])
def test_a_job_that_cannot_be_started_fails_and_the_next_one_runs(folder, run, argument):
    first, second = (add_job(folder, "p", "look", [text]) for text in (argument, "a"))
    run(SAYS)
    until(lambda: state_of(folder, second.id).ended is not None, "the next one ends")
    assert state_of(folder, first.id).status == "failed"
    assert "could not be started" in result_of(folder, first.id)["error"]
    assert state_of(folder, second.id).status == "done"


@pytest.mark.parametrize("error", [OSError("full"), BadInputError("full")], ids=["system", "atomic"])
def test_on_a_full_disk_jobs_wait_until_there_is_space(folder, run, monkeypatch, error):
    monkeypatch.setattr(runner, "RETRY", 0.05)
    full, write = threading.Event(), write_state

    def written(*given):
        if given[2].status == "done" and not full.is_set():
            full.set()
            raise error
        write(*given)

    monkeypatch.setattr(runner, "write_state", written)
    first, second = (add_job(folder, "p", "look", []) for _ in range(2))
    run(SAYS)
    until(lambda: state_of(folder, second.id).ended is not None, "both end")
    assert full.is_set()
    assert [state_of(folder, job.id).status for job in (first, second)] == ["done", "done"]


def test_a_job_that_had_written_everything_when_it_was_cancelled_is_done(folder, run):
    """Nothing is said to be gone that is there."""
    out = folder.releases / "r"
    job = add_job(folder, "p", "release", [], writes=[out])
    one = run(WAITS)
    until(lambda: state_of(folder, job.id).status == "running", "it runs")
    out.mkdir()
    one.cancel(job.id)
    until(lambda: state_of(folder, job.id).ended is not None, "it ends")
    assert state_of(folder, job.id).status == "done"


def test_a_job_is_run_again_once(studio):
    folder = Folder(studio.folder)
    project = make_project(folder, "/none", name="again")
    job = add_job(folder, project.id, "look", ["anonymize", "/none", "--dry-run"])
    write_state(folder, job.id, State(status="failed"))
    for _ in range(2):
        assert studio.post(f"/p/{project.id}/jobs/{job.id}/again")[0] == 303
    assert len(jobs_of(folder, project.id)) == 2


def test_a_taxonomy_that_no_file_can_be_called_breaks_no_page(studio, log):
    project, long = make_project(Folder(studio.folder), str(log), name="long"), "x" * 300
    home = f"/p/{project.id}"
    status, _, text = studio.post(f"{home}/words", taxonomy=long)
    assert (status, f"taxonomy file &#39;{long}&#39; does not exist" in text) == (422, True)
    assert studio.post(f"{home}/choose", goal="words", k="5", taxonomy=long)[0] == 303
    status, _, text = studio.ask("GET", f"{home}/words?find=dog")
    assert (status, f"taxonomy file &#39;{long}&#39; does not exist" in text) == (200, True)


def test_rooms_that_others_may_open_are_closed(tmp_path):
    folder = Folder(tmp_path / "work")
    for place in (folder.path, folder.private, folder.door):
        place.chmod(0o777)
    Folder(tmp_path / "work")
    assert folder.path.stat().st_mode & 0o022 == 0
    assert [place.stat().st_mode & 0o777 for place in (folder.private, folder.door)] == [0o700, 0o700]


def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    """Who made the folder may have put a session into it."""
    Folder(tmp_path / "work")
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(BadInputError, match=r"belongs to another user.*name another folder"):
        Folder(tmp_path / "work")


def test_a_token_and_a_session_end_and_are_removed(folder):
    door = Door(folder)
    token, other = door.new_token(), door.new_token()
    session = door.enter(other)
    assert door.knows(session)
    for file in folder.door.iterdir():
        past = time.time() - (TOKEN_SECONDS if file.name.startswith("token") else SESSION_SECONDS)
        os.utime(file, (past, past))
    assert not door.knows(session)
    assert door.enter(token) is None
    door.new_token()
    assert len(list(folder.door.iterdir())) == 1


def test_the_token_is_on_no_command_line(folder, monkeypatch):
    """Every user of the machine can read the arguments with which a browser is started."""
    opened, said = [], []
    monkeypatch.setattr(serve.webbrowser, "open", opened.append)
    monkeypatch.setattr(serve, "_host_in", lambda _: "127.0.0.1:1")
    with serve._only_one(folder):
        serve.run_studio(folder, 0, said.append, browser=True)
    page = folder.door / "open.html"
    assert opened == [page.as_uri()]
    assert said[0].address in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o077 == 0


def test_the_page_that_a_browser_is_started_with_leads_to_the_studio(tmp_path, new_tab):
    with running_studio(tmp_path / "work") as studio:
        tab = new_tab()
        tab.open(serve._page_to(studio.entrance, tmp_path / "open.html"))
        tab.until_shown("Your projects")


def test_a_second_start_waits_until_the_first_listens(folder, monkeypatch):
    address = folder.door / "address"
    monkeypatch.setattr(serve.time, "sleep", lambda _: address.write_text("127.0.0.1:1"))
    assert serve._host_in(address) == "127.0.0.1:1"
    address.unlink()
    monkeypatch.setattr(serve, "START_SECONDS", -1)
    with pytest.raises(BadInputError, match="try again"):
        serve._host_in(address)


def test_an_estimator_without_its_studio_ends():
    environment = {**os.environ, "INCROWD_PARENT": "1"}
    command = [sys.executable, "-m", "incrowd.studio.estimating"]
    assert subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode == 1


@pytest.mark.parametrize(
    "value", ["a\0b", "a\nb", "x" * 5_000], ids=["no character", "two lines", "too long"]
)
def test_what_no_command_can_hold_is_refused(studio, log, value):
    project = make_project(Folder(studio.folder), str(log), name="odd")
    for screen, field in (("choose", "memory"), ("data", "user"), ("words", "taxonomy")):
        status, _, text = studio.post(f"/p/{project.id}/{screen}", **{field: value})
        assert status == 422
        assert f"{field} must be one line" in text
    assert read_project(Folder(studio.folder), project.id) == project


def test_odd_numbers_and_too_many_fields_are_refused(studio, log):
    project = make_project(Folder(studio.folder), str(log), name="odd")
    assert studio.post(f"/p/{project.id}/choose", **{f"f{n}": "1" for n in range(300)})[0] == 413
    assert studio.post(f"/p/{project.id}/choose", goal="words", k="9" * 4_000)[0] == 422
    for path in ("before-after?page=", "curves?k=", "curves/none.json?k="):
        assert studio.ask("GET", f"/p/{project.id}/{path}{'9' * 5_000}")[0] == 200


def test_a_memory_that_a_job_would_refuse_is_refused_beside_its_field(studio, log):
    project = make_project(Folder(studio.folder), str(log), name="memory")
    status, _, text = studio.post(f"/p/{project.id}/choose", goal="words", k="5", memory="100MB")
    assert status == 422
    assert 'id="e-memory">memory must be at least 640MB' in text


def test_a_path_that_is_no_input_begins_no_project(studio, tmp_path):
    empty, pipe = tmp_path / "empty.tsv", tmp_path / "pipe.tsv"
    empty.touch()
    os.mkfifo(pipe)
    before = list((studio.folder / "projects").iterdir())
    for path, said in (
        (empty, "is empty: give a file"),
        (pipe, "is no file: give the path"),
        ("/dev/zero", "is no file: give the path"),
        ("/" + "x" * 300, "check how it is written"),
    ):
        status, _, text = studio.post("/projects", path=str(path))
        assert (status, said in text) == (422, True), path
    assert list((studio.folder / "projects").iterdir()) == before


@pytest.mark.parametrize("name", ["x" * 300 + ".tsv.gz", "é" * 200 + ".tsv.gz"])
def test_a_long_name_of_a_dropped_file_keeps_its_end(studio, name):
    status, _, text = studio.ask("PUT", f"/projects/dropped?name={quote(name)}", "user\tquery\nu\tq\n")
    assert status == 200
    project = read_project(Folder(studio.folder), json.loads(text)["see"].split("/")[2])
    assert project.source.endswith(".tsv.gz")


def test_a_name_cannot_turn_the_page_around(folder):
    assert make_project(folder, "/x", name="a\u202ecod.exe").name == "a\ufffdcod.exe"


def test_lines_that_are_not_understood_can_be_seen_to_name_their_columns(studio, tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("who,what,when\n" + "ann,dogs,2006-03-01 10:00:00\n" * 3, encoding="utf-8")
    project = make_project(Folder(studio.folder), str(file), name="odd.csv")
    _, _, text = studio.ask("GET", f"/p/{project.id}/data")
    assert "•••,••••,••••-••-••" in text
    assert "ann" not in text
    assert 'id="count"' not in text  # there is nothing to count yet
    assert "ann,dogs,2006" in studio.ask("GET", f"/p/{project.id}/data/rows?show=yes")[2]


def test_damaged_files_hide_themselves_and_nothing_else(studio, released, log):
    project, release = released
    folder = Folder(studio.folder)
    other = make_project(folder, str(log), name="damaged")
    job = add_job(folder, other.id, "look", ["anonymize", str(log), "--dry-run"])
    write_state(folder, job.id, State(status="done", started=1, ended=2))
    place = folder.jobs / job.id
    (place / "progress.jsonl").write_bytes(
        b'{"step": "read", "title": "Reading", "time": 1}\n\xff{\nnull\n[]\n'
    )
    (place / "result.json").write_bytes(b"[" * 100_000)
    assert [step.title for step in progress_of(folder, job.id).steps] == ["Reading"]
    for number, text in enumerate(
        ("", "{", '{"format": "incrowd-release/1"}', '{"format": "incrowd-x", "claim": 7}')
    ):
        damaged = folder.releases / f"damaged-{number}"
        damaged.mkdir()
        (damaged / "manifest.json").write_text(text)
    for name, text in (
        ("copy-1", (folder.projects / other.id / "project.json").read_text()),
        ("none-1", "["),
    ):
        (folder.projects / name).mkdir()
        (folder.projects / name / "project.json").write_text(text)
    (folder.jobs / "999998").mkdir()
    shutil.copy(place / "job.json", folder.jobs / "999998")
    assert studio.ask("GET", "/p/copy-1/data")[0] == 404
    assert [one.id for one in all_jobs(folder)].count(job.id) == 1
    assert [one.name for one in all_releases(folder)] == [release.name]
    for page in ("/", f"/p/{other.id}/data", f"/p/{project.id}/publish", f"/p/{project.id}/releases"):
        assert studio.ask("GET", page)[0] == 200, page


def test_an_archive_has_the_files_of_a_release_and_no_links(studio, released, tmp_path):
    _, release = released
    copy = Folder(tmp_path / "work").releases / "copy of mine"
    shutil.copytree(release.path, copy)
    private = Path(studio.folder, "private", release.name, "map.parquet")
    shutil.copy(private, copy / "map.parquet")
    (copy / "report.html").unlink()
    (copy / "report.html").symlink_to(private)
    (copy / "records.parquet").unlink()
    (copy / "records.parquet").symlink_to(private.parent)
    copy.with_name("copy of mine.certificate.html").symlink_to(private)
    found = read_release(Folder(tmp_path / "work"), "copy of mine")
    assert found.pages == []
    with zipfile.ZipFile(BytesIO(b"".join(zipped(found)))) as archive:
        assert sorted(archive.namelist()) == ["copy of mine/manifest.json", "copy of mine/taxonomy.parquet"]


def test_an_archive_has_only_files_that_the_manifest_lists(studio, released, tmp_path):
    """Names of other releases' files are no licence: the owner's own table may have one."""
    _, release = released
    copy = Folder(tmp_path / "work").releases / "copy"
    shutil.copytree(release.path, copy)
    private = Path(studio.folder, "private", release.name, "map.parquet")
    listed = {path.name for path in copy.iterdir()}
    for name in {"records.csv", "tiles.csv", "items.parquet", "records.jsonl"} - listed:
        shutil.copy(private, copy / name)
    if "tiles.parquet" in listed:
        (copy / "records.parquet").mkdir()
        shutil.copy(private, copy / "records.parquet" / "part-00000.parquet")
    found = read_release(Folder(tmp_path / "work"), "copy")
    with zipfile.ZipFile(BytesIO(b"".join(zipped(found)))) as archive:
        assert set(archive.namelist()) == {f"copy/{name}" for name in listed}


def test_a_release_that_was_copied_here_can_be_opened_by_its_name(studio, released):
    project, release = released
    place = release.path.with_name('My "own" release')
    shutil.copytree(release.path, place)
    _, _, text = studio.ask("GET", f"/p/{project.id}/releases")
    assert (address := f"/releases/{quote(place.name)}/report.html") in text
    assert studio.ask("GET", address)[0] == 200
    status, headers, _ = studio.ask("GET", f"/releases/{quote(place.name)}/archive.zip")
    shutil.rmtree(place)
    assert status == 200
    assert headers["Content-Disposition"] == f"attachment; filename*=utf-8''{quote(place.name)}.zip"


def test_a_new_release_takes_no_name_that_one_has(folder):
    (folder.releases / "x-1").mkdir()
    assert new_places(folder, "x").out.name == "x-2"


def test_a_release_that_was_removed_is_not_offered(studio, released):
    project, release = released
    away = release.path.with_name(".away")
    release.path.rename(away)
    _, _, text = studio.ask("GET", f"/p/{project.id}/run")
    away.rename(release.path)
    assert "The release was removed since" in text
    assert "Look at it" not in text
    assert "Next: Before and after" not in text


def test_releases_of_the_same_file_are_known_in_another_project(studio, released, baskets):
    project, release = released
    folder = Folder(studio.folder)
    other = make_project(folder, str(baskets.parent / "." / baskets.name), name="the same")
    place = release.path.with_name("same-1")
    shutil.copytree(release.path, place)
    job = add_job(folder, other.id, "release", [], release="same-1")
    write_state(folder, job.id, State(status="done"))
    _, _, text = studio.ask("GET", f"/p/{project.id}/publish")
    shutil.rmtree(place)
    assert "There are other releases" in text
    assert "same-1" in text


def test_a_release_that_was_changed_cannot_be_downloaded(studio, released):
    """It comes last: it changes the release."""
    project, release = released
    folder = Folder(studio.folder)
    archive = f"/releases/{release.name}/archive.zip"
    assert studio.ask("GET", archive)[0] == 200
    manifest = release.path / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"k": 3', '"k": 4'))
    for holds in (False, True):
        assert studio.post(f"/p/{project.id}/publish/{release.name}/audit")[0] == 303
        job = jobs_of(folder, project.id, "audit")[0]
        until(lambda job=job: state_of(folder, job.id).ended is not None, "it is recounted")
        assert (studio.ask("GET", archive)[0] == 200) is holds
        assert ("archive.zip" in studio.ask("GET", f"/p/{project.id}/publish")[2]) is holds
        manifest.write_text(text)
