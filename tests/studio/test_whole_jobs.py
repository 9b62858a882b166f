"""The whole job in a real browser: the demo log, a file of baskets, and what goes wrong on the way."""

from __future__ import annotations

import json
import shutil
import time
import zipfile
from importlib import resources
from io import BytesIO
from urllib.request import Request, urlopen

import pytest

from helpers import has_ended, until, visible
from incrowd.methods.registry import METHODS
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import State, add_job, all_jobs, write_state
from incrowd.studio.projects import change_project, read_project
from incrowd.studio.screens import SCREENS
from studio.harness import cookies_of, go_on, job_process, running_studio, start_studio, stop_the_job


def begin(tab, studio, path):
    """Begin a project with a file; return its part of the address."""
    tab.visit(studio.home)
    tab.type("#path", str(path))
    tab.press("form[action='/projects'] button")
    return tab.run("location.pathname.split('/')[2]")


def release(tab, studio, project, **values):
    """Save choices and make a release of them; return its name."""
    tab.visit(f"{studio.home}/p/{project}/choose")
    for name, value in values.items():
        tab.run(f"document.getElementById('{name}').{value}; true")
    tab.press("#choices > .next button")
    assert tab.run("location.pathname") == f"/p/{project}/run", tab.shown()
    tab.press("#start")
    tab.until_shown("Look at it", "#runs section")
    return tab.shown("#runs h2")


def releases_in(studio):
    """Return the names of the releases; of lines that could not be read there is a list beside them."""
    return visible(studio.folder / "releases") - {"rejects.jsonl"}


def check_nothing_wrong(tab, studio):
    """Nothing was asked for elsewhere, and no page did anything against its rules."""
    tab.run("document.title")  # all pending messages have arrived now
    assert tab.errors == []
    assert {url.split("/")[2] for url in tab.all_requests if not url.startswith("data:")} == {studio.host}


def test_the_whole_job_on_the_demo_log(studio, tab):
    tab.press("#sample")
    assert "AnonID" in tab.shown("dl.words")
    name = release(tab, studio, "sample-1")
    tab.press("#runs .button")
    assert "at least 5 different accounts" in tab.shown(".claim")
    assert (studio.folder / "releases" / name / "manifest.json").exists()
    assert (studio.folder / "private" / name / "map.parquet").stat().st_mode & 0o077 == 0
    check_nothing_wrong(tab, studio)
    tab.visit(f"{studio.home}/p/sample-1/releases")
    assert not tab.run("document.querySelector('#compare input')")  # there is none to compare it with


def test_the_whole_job_on_baskets(studio, tab, baskets):
    project = begin(tab, studio, baskets)
    assert "baskets, one a line" in tab.shown()
    assert "milk" not in tab.shown()  # it is masked
    tab.run("document.getElementById('reveal').click()")
    tab.until_shown("milk bread", "#rows")
    tab.visit(f"{studio.home}/p/{project}/choose")
    assert not tab.run("document.getElementById('goal-queries')")
    tab.run("document.getElementById('goal-people').click()")
    tab.until("document.getElementById('command').innerText.includes('--goal people')")
    assert "goal='people'" in tab.shown("#python")
    name = release(tab, studio, project, **{"goal-people": "checked = true", "f-k": "value = '3'"})
    tab.press("#runs .button")
    tab.press("#recount")
    tab.until_shown("it holds", "#audit")
    manifest = json.loads((studio.folder / "releases" / name / "manifest.json").read_text())
    assert (manifest["method"], manifest["claim"]["k"]) == ("flock", 3)
    change_project(Folder(studio.folder), read_project(Folder(studio.folder), project), choices={"k": "9"})
    tab.visit(f"{studio.home}/p/{project}/publish")
    assert "k = 3" in tab.shown(".chosen")  # what it was made with, not what is chosen now
    check_nothing_wrong(tab, studio)
    download(tab, studio, name)


def download(tab, studio, name):
    """What is downloaded is the release and its pages, and nothing private."""
    headers = {"Cookie": cookies_of(tab, studio)}
    request = Request(f"{studio.home}/releases/{name}/archive.zip", headers=headers)
    with urlopen(request) as answer, zipfile.ZipFile(BytesIO(answer.read())) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        text = archive.read(f"{name}/manifest.json")
    own = visible(studio.folder / "releases" / name)
    assert names == {f"{name}/{file}" for file in own} | {
        f"{name}.certificate.html",
        f"{name}.dictionary.html",
    }
    assert text == (studio.folder / "releases" / name / "manifest.json").read_bytes()


def test_the_whole_job_with_the_keyboard_alone(studio, tab, baskets):
    """No mouse, and no script that presses: tabulator, space, enter, arrows and letters."""
    tab.visit(studio.home)
    tab_to(tab, "path")
    tab.tell("Input.insertText", text=str(baskets))
    enter(tab)
    tab_to(tab, "Next: Risk now")
    enter(tab)
    tab_to(tab, "Next: Words")
    enter(tab)
    tab_to(tab, "Next: Choose")
    enter(tab)
    tab_to(tab, "goal-words")
    tab.press_key("ArrowDown", 40)  # baskets have no whole queries
    tab_to(tab, "f-k")
    tab.tell("Input.insertText", text="3")
    enter(tab)
    tab_to(tab, "start")
    enter(tab)
    tab.until_shown("Look at it", "#runs section")
    tab_to(tab, "Look at it")
    enter(tab)
    assert {"k = 3", "flock"} <= set(tab.shown(".chosen").split("\n"))
    tab_to(tab, "Download as zip")


def tab_to(tab, name):
    """Go on with the tabulator until something has the focus, by its id or its text; it is seen, and its frame too."""
    focus = "(one => [one.id, one.innerText?.trim(), getComputedStyle(one).outlineStyle, one.getBoundingClientRect().width])(document.activeElement)"
    for _ in range(60):
        tab.press_key("Tab", 9)
        identity, text, frame, width = tab.run(focus)
        if name in (identity, text):
            assert frame != "none" or identity.startswith("goal-")  # of a goal, its card is framed
            assert width > 0
            return
    raise AssertionError(f"the tabulator does not lead to {name}")


def enter(tab):
    tab.run("window.left = false; true")
    tab.press_key("Enter", 13)
    tab.until("window.left === undefined && document.readyState === 'complete'")


@pytest.mark.parametrize("screen", [screen.slug for screen in SCREENS])
def test_every_screen_can_be_loaded_again_and_fits(studio, tab, screen):
    """It runs after the whole jobs, whose releases it shows."""
    settled = "document.querySelector('#curves') === null || document.querySelector('#curves .chart svg') && !document.querySelector('#curves [hx-get]')"
    tab.visit(f"{studio.home}/p/sample-1/{screen}")
    tab.until(f"Boolean({settled})")  # the curve comes after the page
    before = tab.shown()
    tab.visit(f"{studio.home}/p/sample-1/{screen}")
    tab.until(f"Boolean({settled})")
    assert tab.shown() == before
    assert "sample.tsv" in before or screen == "releases"
    for width in (1280, 640, 390):  # 640: a window of 1,280 at 200 %
        tab.resize(width)
        assert tab.run("document.documentElement.scrollWidth") <= width
    tab.tell("Emulation.clearDeviceMetricsOverride")
    assert tab.run("document.querySelectorAll('h1').length") == 1
    unlabelled = "[...document.querySelectorAll('input:not([type=hidden]), select')].filter(one => !one.labels.length).map(one => one.id)"
    assert tab.run(unlabelled) == []
    weight = "performance.getEntriesByType('resource').filter(one => !one.name.includes('vega')).reduce((sum, one) => sum + one.decodedBodySize, 0)"
    assert tab.run(weight) < 1_000_000
    check_nothing_wrong(tab, studio)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", ["", *(f"p/sample-1/{screen.slug}" for screen in SCREENS)])
def test_axe_finds_nothing_serious(studio, tab, screen, dark):
    """Labels, roles, names, contrast: what a program can see of how usable a page is without eyes or a mouse."""
    axe = resources.files(pytest.importorskip("axe_core_python", reason="axe-core is not installed"))
    tab.visit(f"{studio.home}/{screen}")
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    tab.tell("Emulation.setEmulatedMedia", features=[scheme])
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; }); true")
    tab.run(axe.joinpath("axe.min.js").read_text(encoding="utf-8") + "; true")
    found = tab.run(
        "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes[0].html]))"
    )
    assert [one for one in found if one[0] in {"serious", "critical"}] == []


def test_a_releases_page_has_no_part_in_the_session(studio, tab):
    name = next(path.name for path in sorted((studio.folder / "releases").iterdir()) if path.is_dir())
    for kind in ("report", "certificate", "dictionary"):
        tab.open(f"{studio.home}/releases/{name}/{kind}.html")
        assert tab.run("document.title").startswith("incrowd: ")
        assert tab.run("self.origin") == "null"
        assert tab.run(f"fetch('{studio.home}/').then(() => 'read', () => 'refused')") == "refused"


def test_the_earlier_of_two_releases_warns_of_the_later(studio, tab):
    folder = studio.folder / "releases"
    shutil.copytree(folder / "sample-1", folder / "sample-9")
    job = next(job for job in all_jobs(Folder(studio.folder)) if job.release == "sample-1")
    later = add_job(Folder(studio.folder), job.project, "release", [], release="sample-9")
    write_state(Folder(studio.folder), later.id, State(status="done"))  # it is not to be run
    tab.visit(f"{studio.home}/p/sample-1/publish?release=sample-1")
    warned = tab.shown(".notice.care")
    shutil.rmtree(folder / "sample-9")
    assert "sample-9" in warned


def test_two_releases_are_compared(studio, tab):
    tab.visit(f"{studio.home}/p/sample-1/releases")
    tab.resize(390)
    ends = "[...document.querySelectorAll('.pick label')].map(one => one.getBoundingClientRect().right)"
    assert max(tab.run(ends)) < 390  # on a phone, too, they are in sight
    tab.tell("Emulation.clearDeviceMetricsOverride")
    tab.press("#compare button")
    assert "mosaic" in tab.shown()
    assert "flock" in tab.shown()
    assert tab.run("document.querySelectorAll('.differs').length") > 3


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/no/such/file.tsv", "does not exist"),
        ("", "give the path"),
        ("https://example.org/x", "fetch the file first"),
    ],
)
def test_a_file_that_is_not_there_is_said_beside_the_field(studio, tab, path, said):
    tab.visit(studio.home)
    tab.type("#path", path)
    tab.press("form[action='/projects'] button")
    assert said in tab.shown("#e-path")
    assert tab.run("document.getElementById('path').value") == path
    assert tab.run("document.activeElement.id") == "path"


def test_a_file_that_is_not_understood_says_how_to_read_it(studio, tab, tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("who,what,when\n" + "1,dogs,2006-03-01 10:00:00\n" * 3, encoding="utf-8")
    project = begin(tab, studio, file)
    assert "--columns" in tab.shown(".error")
    assert "dogs" not in tab.shown()
    for name, value in (("user", "who"), ("query", "what"), ("time", "wen")):
        tab.type(f"#f-{name}", value)
    tab.press("details form button")
    assert "no column 'wen' for the time" in tab.shown("#e-time")
    assert tab.run("document.getElementById('f-user').value") == "who"  # nothing is lost
    tab.type("#f-time", "when")
    tab.press("details form button")
    assert "who" in tab.shown("dl.words")
    saved = json.loads((studio.folder / "projects" / project / "project.json").read_text())
    assert saved["reading"] == {"user": "who", "query": "what", "time": "when"}


def test_a_binary_file_is_refused_in_one_line(studio, tab, tmp_path):
    file = tmp_path / "picture.tsv"
    file.write_bytes(b"\x89PNG" + bytes(range(256)) * 20)
    begin(tab, studio, file)
    assert "looks like a binary file" in tab.shown(".error")


def test_wrong_choices_are_said_beside_their_fields_and_nothing_is_lost(studio, tab, log):
    project = begin(tab, studio, log)
    tab.visit(f"{studio.home}/p/{project}/choose")
    tab.type("#f-k", "one")
    tab.type("#f-confidence", "0.5")
    tab.press("#choices > .next button")
    assert "k must be" in tab.shown("#e-k")
    assert tab.run("document.getElementById('f-confidence').value") == "0.5"
    tab.type("#f-k", "3")
    tab.type("#f-confidence", "7")
    tab.press("#choices > .next button")
    assert "confidence must be" in tab.shown("#e-confidence")


def test_only_the_dials_of_the_method_that_will_run_are_shown(studio, tab, log):
    project = begin(tab, studio, log)
    tab.visit(f"{studio.home}/p/{project}/choose")
    tab.run("document.querySelector('#choices > details').open = true")
    tab.run("""var seen = (goal, method) => {
        document.getElementById('goal-' + goal).checked = true;
        document.getElementById('f-method').value = method;
        return ['k', 'cap', 'specificity', 'private_map', 'title'].filter(one => document.getElementById('f-' + one).checkVisibility());
    }; true""")
    always = ["private_map", "title"]
    assert tab.run("seen('words', '')") == ["k", "cap", *always]
    assert tab.run("seen('people', '')") == ["k", "specificity", *always]
    assert tab.run("seen('people', 'mosaic')") == ["k", "cap", *always]
    assert tab.run("seen('words', 'partition')") == ["k", *always]
    noisy = [name for name, method in METHODS.items() if method.is_noisy]
    assert {name: tab.run(f"seen('words', '{name}')") for name in noisy} == {
        name: ["title"] for name in noisy
    }


def test_choices_that_are_not_saved_are_not_left_without_a_question(studio, tab, log):
    project = begin(tab, studio, log)
    tab.visit(f"{studio.home}/p/{project}/choose")
    leaves = "dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert tab.run(leaves)
    tab.type("#f-k", "7")
    assert not tab.run(leaves)
    tab.press("#choices > .next button")
    assert tab.run("location.pathname").endswith("/run")


def test_a_run_that_is_done_leads_to_the_next_step(studio, tab):
    """It runs after the whole jobs."""
    tab.visit(f"{studio.home}/p/sample-1/run")
    tab.press(".next .button")
    assert tab.run("location.pathname") == "/p/sample-1/before-after"
    place = "getComputedStyle(document.querySelector('nav[aria-label=Pages] a'), '::before').content"
    assert tab.run(place) == "none"  # it is no step of the job, and has no number


def test_what_was_opened_stays_open_when_progress_is_fetched(studio, tab):
    """It runs after the whole jobs."""
    tab.visit(f"{studio.home}/p/sample-1/run")
    tab.run("""{ const one = document.querySelector('#runs summary'); one.click(); one.focus();
        document.getElementById('runs').old = true; htmx.trigger(document.body, 'studio:jobs'); }""")
    tab.until("!document.getElementById('runs').old")
    assert tab.run("document.querySelector('#runs details').open")
    assert tab.run("document.activeElement === document.querySelector('#runs summary')")


def test_the_numbers_of_releases_are_explained(studio, tab):
    tab.visit(f"{studio.home}/p/sample-1/releases")
    tab.press("#compare button")
    tab.run("[...document.querySelectorAll('summary')].find(one => one.innerText === 'cap').click()")
    assert "How often one person counts, at most" in tab.shown()
    tab.visit(f"{studio.home}/p/sample-1/publish")
    assert "What the release says of itself" in tab.shown()


def test_the_input_is_counted_with_the_lines_that_cannot_be_read(studio, tab, log):
    begin(tab, studio, log)
    assert tab.shown("#counts dl") == ""
    tab.press("#count")
    tab.until_shown("people", "#counts dl")
    figures = dict(zip(*[iter(tab.shown("#counts dl").split("\n"))] * 2, strict=False))
    assert (figures["lines"], figures["people"]) == ("62", "20")
    assert "line 62" in tab.shown("#counts table")
    assert visible(studio.folder / "jobs") >= {"000001"}
    check_nothing_wrong(tab, studio)


def test_what_the_job_itself_refuses_is_shown_as_it_says_it(studio, tab, log):
    """More people must share than there are: only the job finds out."""
    project = begin(tab, studio, log)
    tab.visit(f"{studio.home}/p/{project}/choose")
    tab.type("#f-k", "1000")
    tab.press("#choices > .next button")
    before = releases_in(studio)
    tab.press("#start")
    tab.until_shown("failed", "#runs")
    assert "1,000" in tab.shown("#runs .error") or "1000" in tab.shown("#runs .error")
    assert "Nothing was published" in tab.shown("#runs")
    assert releases_in(studio) == before


def test_a_dropped_file_is_taken_and_one_that_is_too_large_is_asked_for_by_its_path(studio, tab, baskets):
    tab.visit(studio.home)
    tab.run("document.getElementById('drop').dataset.largest = 5; true")
    give_file(tab, baskets)
    tab.until_shown("give the path", "#e-file")
    tab.visit(studio.home)
    tab.run("window.left = false; true")
    give_file(tab, baskets)
    tab.until("window.left === undefined && document.readyState === 'complete'")
    assert "a copy in the studio's folder" in tab.shown()
    (copy,) = (studio.folder / "inputs").rglob("baskets.dat")
    assert copy.read_bytes() == baskets.read_bytes()


def give_file(tab, path):
    """Choose a file, as a person would."""
    root = tab.tell("DOM.getDocument")["root"]["nodeId"]
    node = tab.tell("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    tab.tell("DOM.setFileInputFiles", files=[str(path)], nodeId=node)


def test_two_tabs_agree(studio, tab, new_tab, log):
    project = begin(tab, studio, log)
    other = new_tab()
    other.visit(f"{studio.home}/p/{project}/choose")
    tab.tell("Page.bringToFront")
    other.run("Object.defineProperty(document, 'hidden', {value: false}); listen(); true")
    assert other.shown("#elsewhere") == ""
    tab.visit(f"{studio.home}/p/{project}/choose")
    tab.type("#f-k", "4")
    tab.press("#choices > .next button")
    other.until_shown("changed in another tab", "#elsewhere")
    other.press("#elsewhere a")
    assert other.run("document.getElementById('f-k').value") == "4"


def test_a_job_is_cancelled_and_leaves_nothing(tmp_path, new_tab, log):
    with running_studio(tmp_path / "work") as studio:
        folder = Folder(studio.folder)
        tab = new_tab()
        tab.open(studio.entrance)
        tab.until_shown("Your projects")
        project = begin(tab, studio, log)
        tab.visit(f"{studio.home}/p/{project}/run")
        tab.press("#start")
        tab.until_shown("running", "#runs")
        stop_the_job(folder)  # it is where it is until it is cancelled
        tab.until("document.querySelector('#runs button')?.innerText === 'Cancel'")
        tab.run("document.querySelector('#runs button').click(); true")
        time.sleep(0.1)
        go_on(folder)
        tab.until_shown("cancelled", "#runs")
        assert "Run again" in tab.shown("#runs")
        assert visible(studio.folder / "releases") == set()
        assert not [path for path in (studio.folder / "private").rglob("*") if path.is_file()]


def test_a_killed_studio_loses_nothing_and_its_job_can_be_run_again(tmp_path, new_tab, baskets):
    studio = start_studio(tmp_path / "work")
    folder = Folder(studio.folder)
    tab = new_tab()
    tab.open(studio.entrance)
    tab.until_shown("Your projects")
    project = begin(tab, studio, baskets)
    change_project(folder, read_project(folder, project), choices={"goal": "people", "k": "3"})
    release_page = f"/p/{project}/run"
    tab.visit(studio.home + release_page)
    tab.press("#start")
    tab.until_shown("running", "#runs")
    stop_the_job(folder)
    process = job_process(folder)
    studio.process.kill()
    studio.process.communicate()
    until(lambda: has_ended(process), "the job ends with the studio")
    tab.until_shown("does not answer", "#gone")
    port = int(studio.host.partition(":")[2])
    with running_studio(tmp_path / "work", port=port) as again:
        tab.visit(again.home + release_page)  # the session is still good
        assert "interrupted" in tab.shown("#runs")
        assert visible(studio.folder / "releases") == set()
        tab.press("#runs form button")
        tab.until_shown("Look at it", "#runs")
        assert len([path for path in (studio.folder / "releases").iterdir() if path.is_dir()]) == 1
