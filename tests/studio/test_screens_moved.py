"""Words that are moved on the page, and moved back: in a plain file, in the command, and in every tab."""

from __future__ import annotations

import asyncio
import json
from importlib import resources
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

import incrowd as ic
from helpers import until
from incrowd.errors import BadInputError
from incrowd.jobs.data import taxonomy_for
from incrowd.jobs.spec import read_job, settled
from incrowd.methods.registry import GOALS, METHODS
from incrowd.studio import uploads
from incrowd.studio.commands import (
    Places,
    anonymize_command,
    look_command,
    options_of,
    python_lines,
    risk_command,
)
from incrowd.studio.curves import wanted_of
from incrowd.studio.jobs import State, add_job, write_state
from incrowd.studio.lacking import lacking_of
from incrowd.studio.moved import add_move, keep_moves, moved_words, takes_moves, undo_move, used_taxonomy
from incrowd.studio.projects import change_project, make_project, read_project
from incrowd.studio.releases import Release, places_of
from incrowd.studio.screens import before_after, words
from incrowd.studio.views import current_look
from studio.harness import AOL_HEADER, Work, cookies_of

WORDS = ("jaguar", "cheetah", "truck", "zorblax", "music", "weather")


def write_log(path):
    lines = [
        f"{user}\t{WORDS[(user + step) % 6]}\t2006-03-0{1 + day} 10:00:00\t\t\n"
        for user in range(60)
        for day, step in enumerate((0, 1, 3))
    ]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def project(folder, tmp_path):
    return make_project(folder, str(write_log(tmp_path / "log.tsv")), name="log")


def again(folder, project):
    return read_project(folder, project.id)


def move_all(folder, project, *moves):
    for word, below in moves:
        add_move(folder, project, word, below)
    return again(folder, project)


def shown(project):
    return [(move.word, move.below) for move in moved_words(project)]


def test_the_last_move_counts_and_undoing_it_brings_the_one_before_back(folder, project):
    project = move_all(folder, project, ("jaguar", "car"), ("zorblax", "car"), ("jaguar", "truck"))
    path = Path(project.moves)
    assert path == folder.projects / project.id / "moves.tsv"
    assert path.read_text(encoding="utf-8") == "jaguar\tcar\nzorblax\tcar\njaguar\ttruck\n"
    assert shown(project) == [("jaguar", "truck"), ("zorblax", "car")]
    undo_move(folder, project, 3, "jaguar")
    assert shown(project) == [("zorblax", "car"), ("jaguar", "car")]
    undo_move(folder, project, 1, "jaguar")
    assert shown(project) == [("zorblax", "car")]
    undo_move(folder, project, 1, "zorblax")
    assert (path.exists(), shown(project), again(folder, project).moves) == (False, [], "")


def test_what_another_tab_has_undone_is_not_undone_again(folder, project):
    project = move_all(folder, project, ("jaguar", "car"), ("zorblax", "car"))
    undo_move(folder, project, 1, "jaguar")
    for line, word in ((1, "jaguar"), (2, "zorblax"), (0, "zorblax"), (9, "zorblax")):
        with pytest.raises(BadInputError, match="changed in another tab"):
            undo_move(folder, project, line, word)
    assert shown(project) == [("zorblax", "car")]


def test_lines_that_its_owner_wrote_are_kept(folder, project):
    path = folder.projects / project.id / "moves.tsv"
    path.write_text("# mine\r\njaguar\tcar\r\nno move\r\n", encoding="utf-8", newline="")
    project = move_all(folder, again(folder, project), ("zorblax", "car"))
    assert shown(project) == [("zorblax", "car"), ("jaguar", "car")]
    undo_move(folder, project, 2, "jaguar")
    assert [line.strip() for line in path.read_text().splitlines()] == ["# mine", "no move", "zorblax\tcar"]
    with pytest.raises(BadInputError, match="line 2 has no tab"):
        ic.anonymize([["dog"]], moves=path)


def test_a_project_does_not_write_down_what_its_folder_says(folder, project):
    project = move_all(folder, project, ("jaguar", "car"))
    changed = change_project(folder, project, choices={"k": "3"})
    assert changed.moves == project.moves
    said = json.loads((folder.projects / project.id / "project.json").read_text(encoding="utf-8"))
    assert said["moves"] == ""


def test_the_command_and_the_lines_of_python_take_the_file(folder, project, tmp_path, capsys):
    places = Places(tmp_path / "release", tmp_path / "private")
    places.private.mkdir()
    assert "--moves" not in look_command(project)
    project = move_all(folder, project, ("jaguar", "motor vehicle"))
    assert look_command(project)[-5:-2] == ["--moves", project.moves, "--dry-run"]
    assert options_of(project, places).moves == Path(project.moves)
    assert "--moves" not in risk_command(project)  # the data as they are have their items wherever these hang
    keep_moves(project, places.moves)
    command = anonymize_command(project, places)
    assert command[command.index("--moves") + 1] == str(places.moves)
    move_all(folder, project, ("zorblax", "car"))  # is no part of a release that was begun before
    lines = python_lines(project, places)
    exec(compile(lines, "lines", "exec"), {})
    assert capsys.readouterr().out == "True\n"
    assert json.loads((places.out / "manifest.json").read_text())["parameters"]["moved"] == 1


@pytest.mark.parametrize(
    "choices",
    [{"goal": "queries"}, {"method": "dp"}, {"taxonomy": "balanced:5"}, {"method": "microaggregation"}],
)
def test_where_moves_have_no_place_the_command_leaves_them_out(folder, project, choices, tmp_path):
    project = change_project(folder, move_all(folder, project, ("jaguar", "car")), choices=choices)
    assert not takes_moves(project)
    assert "--moves" not in look_command(project)
    assert options_of(project, Places(tmp_path / "out", tmp_path)).moves is None
    keep_moves(project, tmp_path / "kept.tsv")
    assert not (tmp_path / "kept.tsv").exists()


@pytest.mark.parametrize("goal", GOALS)
def test_the_taxonomy_that_is_shown_is_the_one_that_a_job_takes(project, tmp_path, goal):
    """A method replaces the goal, and what that is about."""
    seen, places = set(), Places(tmp_path / "out", tmp_path)
    with ic.read_log(project.source) as log:
        for method, items in [*product(("", *METHODS), [""]), *product(("", "flock"), ("terms", "queries"))]:
            said = {"goal": goal, "method": method, "items": items, "certificate": "no"}
            chosen = replace(project, choices={name: text for name, text in said.items() if text})
            job = settled(read_job(options_of(chosen, places)), log)
            assert used_taxonomy(chosen) == taxonomy_for(job, str(job.items)), said
            seen.add(used_taxonomy(chosen))
    assert seen == {"wordnet", "balanced:5"}


def test_a_word_may_be_counted_below_what_it_was_moved_to(folder, project):
    """What became of a word is looked for where the release has it, whatever was moved since."""
    places = places_of(folder, "cats-1")
    places.private.mkdir()
    release = Release("cats-1", places.out, {"parameters": {"taxonomy": "wordnet"}}, 0.0, None)
    assert before_after._above(release, places, "jaguar")[:2] == ["jaguar", "big cat"]
    keep_moves(move_all(folder, project, ("jaguar", "truck")), places.moves)
    assert before_after._above(release, places, "Jaguar")[:3] == ["Jaguar", "truck", "motor vehicle"]
    assert before_after._above(release, places, "zorblax") == []


def test_a_curve_depends_on_moved_words(folder, project):
    marks = {wanted_of(folder, project, {}).path}
    for word, below in (("jaguar", "car"), ("zorblax", "car")):
        project = move_all(folder, project, (word, below))
        marks.add(wanted_of(folder, project, {}).path)
    assert len(marks) == 3


def counted(folder, project, *words, **other):
    """Write down a count of the data that has ended, with some words that the taxonomy lacks."""
    job = add_job(folder, project.id, "look", look_command(project))
    taxonomy = {"lacking": words, "lacking_in_all": 100, "lacking_counts": "people", "unlisted_are": "name"}
    text = json.dumps({"dry_run": True, "refused": "k is too large", "taxonomy": taxonomy | other})
    (folder.jobs / job.id / "result.json").write_text(text, encoding="utf-8")
    write_state(folder, job.id, State(status="failed"))


ZORBLAX = {"item": "zorblax", "number": 7, "below": None}
QUUX = {"item": "quuxify", "number": 6, "below": None}
KMART = {"item": "kmart", "number": 5, "below": "department store"}


def test_what_the_taxonomy_lacks_stays_until_it_is_counted_again_but_for_moved_words(folder, project):
    def listed():
        found = lacking_of(folder, again(folder, project))
        return [word.item for word in found.words], found.in_all, found.is_old

    assert lacking_of(folder, project) is None
    counted(folder, project, ZORBLAX, KMART)
    assert listed() == (["zorblax", "kmart"], 100, False)
    project = move_all(folder, project, ("Zorblax", "big cat"))
    assert listed() == (["kmart"], 99, True)
    counted(folder, project, KMART)
    assert listed() == (["kmart"], 100, False)
    counted(folder, project, {"item": 3})  # a result that was damaged
    assert listed() == (["kmart"], 100, False)
    project = change_project(folder, project, choices={"unlisted": "keep"})
    assert lacking_of(folder, project) is None


@pytest.fixture(scope="module")
def work(studio, tab, tmp_path_factory):
    path = write_log(tmp_path_factory.mktemp("moved") / "cats.tsv")
    studio.cookie = cookies_of(tab, studio)
    return Work(studio, path, "cats")


def move(tab, work, word, below):
    """Look a word up and move it, with the keyboard alone."""
    tab.visit(f"{work.home}/words?find={word}")
    tab.type("#below", below)
    tab.run("window.left = false; document.getElementById('below').focus(); true")
    for kind in ("keyDown", "keyUp"):
        tab.tell(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            text="\r",
            windowsVirtualKeyCode=13,
        )
    tab.until("window.left === undefined && document.readyState === 'complete'")


def rows(tab):
    return tab.run(
        "[...document.querySelectorAll('#moved tbody tr')].map(one => one.innerText.split('\\t').slice(0, 2))"
    )


def test_words_are_moved_and_moved_back_on_the_page(work, tab, new_tab):
    other = new_tab()
    other.visit(f"{work.home}/words")
    assert "None." in other.shown("#moved")
    move(tab, work, "jaguar", "motor vehicle")
    assert "It was moved below 'motor vehicle'; the taxonomy has it below 'big cat'." in tab.shown("#found")
    move(tab, work, "zorblax", "big cat")  # which the taxonomy lacks
    move(tab, work, "jaguar", "truck")
    assert rows(tab) == [["jaguar", "truck"], ["zorblax", "big cat"]]
    other.tell("Page.bringToFront")  # only the tab that is seen listens
    until(lambda: rows(other) == rows(tab), "the other tab")
    other.press("#undo-last")
    assert rows(other) == [["zorblax", "big cat"], ["jaguar", "motor vehicle"]]
    tab.tell("Page.bringToFront")
    until(lambda: rows(other) == rows(tab), "this tab")
    assert tab.run("document.querySelector('#moved button').ariaLabel") == "Undo: zorblax below big cat"
    tab.press("#moved tbody tr:last-child button")
    assert rows(tab) == [["zorblax", "big cat"]]
    tab.visit(f"{work.home}/words?find=jaguar")
    assert "moved" not in tab.shown("#found")
    assert not tab.errors
    assert not other.errors


@pytest.mark.parametrize(
    ("word", "below", "said"),
    [
        ("jaguar", "motor vehicel", "wordnet has no such class: say 'motor vehicle'"),
        ("jaguar", "", "a move needs a word and a class"),
        ("johnsmith", "car", "that word is published as another one, or as its kind only"),
    ],
)
def test_a_move_that_cannot_be_is_said_beside_the_field(work, tab, word, below, said):
    before = moved_words(work.project)
    tab.visit(f"{work.home}/words?find={word}")
    tab.type("#below", below)
    tab.press("#move button")
    assert said in tab.shown("#e-below")
    assert "e-below" in tab.run("document.getElementById('below').getAttribute('aria-describedby')")
    assert tab.run("document.getElementById('below').value") == below
    assert tab.run("document.activeElement.id") == "below"
    assert moved_words(work.project) == before
    tab.press("form[role=search] button")  # the page is a usable one
    assert tab.run("location.pathname") == f"/p/{work.id}/words"


def test_words_that_the_taxonomy_lacks_are_listed_to_be_looked_up(work):
    def listed():
        return work.get("words").partition('<div id="lacking">')[2].partition("</section>")[0]

    counted(work.folder, work.project, {"item": '<i>"&?', "number": 1234, "below": "a<b"}, QUUX)
    text = listed()
    assert f'<a href="/p/{work.id}/words?find=%3Ci%3E%22%26%3F">&lt;i&gt;&#34;&amp;?</a>' in text
    assert '<td class="number">1,234</td><td>a&lt;b</td>' in text
    assert "unlisted: its kind is not known" in text
    assert "2 of 100 distinct items that the taxonomy lacks" in text
    assert "for you alone" in text
    counted(work.folder, work.project, lacking_in_all=0)
    assert "Every word has a place." in listed()


def test_a_move_that_is_gone_is_said(work):
    status, _, text = work.post("words/undo", line="7", word="nothing")
    assert (status, "changed in another tab" in text) == (422, True)
    assert work.post("words/undo", line="x", word="zorblax")[0] == 422


def test_what_is_chosen_while_a_taxonomy_is_copied_is_kept(folder, project, monkeypatch):
    """A large file takes its time, and another tab goes on."""
    write = uploads._write

    async def slowly(*given):
        change_project(folder, again(folder, project), choices={"k": "7"})
        await write(*given)

    async def stream():
        yield b"dog\tanimal\ncat\tanimal\n"

    monkeypatch.setattr(uploads, "_write", slowly)
    app = SimpleNamespace(state=SimpleNamespace(studio=SimpleNamespace(folder=folder)))
    request = SimpleNamespace(
        app=app,
        path_params={"project": project.id},
        query_params={"name": "own.tsv"},
        headers={},
        stream=stream,
    )
    answer = asyncio.run(words.dropped(request))
    assert json.loads(answer.body) == {"see": f"/p/{project.id}/words"}
    assert again(folder, project).choices == {
        "k": "7",
        "taxonomy": str(folder.inputs / "own-1" / "own.tsv"),
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_screen_with_moved_words_is_usable_by_all(work, tab, dark):
    axe = resources.files(pytest.importorskip("axe_core_python", reason="axe-core is not installed"))
    work.post("words/move", word="jaguar", below="motor vehicle")
    tab.visit(f"{work.home}/words?find=jaguar")
    tab.tell(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
    )
    tab.run(axe.joinpath("axe.min.js").read_text(encoding="utf-8") + "; true")
    found = tab.run(
        "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes[0].html]))"
    )
    assert [one for one in found if one[0] in {"serious", "critical"}] == []
    for width in (1280, 640, 390):
        tab.resize(width)
        assert tab.run("document.documentElement.scrollWidth") <= width
    tab.tell("Emulation.clearDeviceMetricsOverride")


def test_a_release_is_made_with_the_words_as_they_were_and_counts_are_taken_again(work):
    work.run("data/count", "look")
    view = current_look(work.folder, work.project)
    assert view.result["taxonomy"]["moved"] == 2
    assert "Every word has a place." in work.get("words")  # zorblax was moved
    work.run("run", "release")
    out = work.folder.releases / "cats-1"
    parents = {
        row["label"]: row["parent"]
        for row in pq.read_table(out / "taxonomy.parquet").to_pylist()
        if row["exact"]
    }
    assert (parents["jaguar"], parents["zorblax"]) == ("motor vehicle", "big cat")
    work.post("words/move", word="music", below="car")
    assert current_look(work.folder, work.project) is None
    work.run("publish/cats-1/audit", "audit")
    work.run("risk-after/cats-1", "risk")
