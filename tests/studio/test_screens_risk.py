"""Risk now, Words, Before and after, Risk after: on a small log, with real jobs."""

from __future__ import annotations

import json
import re

import pytest

from incrowd.studio.folder import write_struct
from incrowd.studio.moved import add_move, undo_move
from incrowd.studio.projects import change_project, read_project
from studio.harness import AOL_HEADER, Work, cookies_of

WORDS = ("dog", "house", "money", "garden", "music", "weather")


@pytest.fixture(scope="module")
def work(studio, tab, tmp_path_factory):
    """A project of sixty people with three words each of six, two of them also with a rare one."""
    path = tmp_path_factory.mktemp("sixty") / "sixty.tsv"
    asked = [
        (user, WORDS[(user + step) % 6], day) for user in range(60) for day, step in enumerate((0, 1, 3))
    ]
    lines = [
        f"{user}\t{word}\t2006-03-0{1 + day} 10:00:00\t\t\n"
        for user, word, day in (*asked, (0, "beagle", 4), (1, "beagle", 4))
    ]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    studio.cookie = cookies_of(tab, studio)
    return Work(studio, path, "sixty")


def test_every_screen_says_what_to_do_first(work):
    assert "Not measured yet" in work.get("risk-now")
    assert "were not counted yet" in work.get("words")
    for screen in ("before-after", "risk-after"):
        assert "There is no release of this project yet" in work.get(screen)
    assert work.studio.ask("GET", f"/p/{work.id}/risk-after?release=none")[0] == 404


def test_risk_now_names_who_is_singled_out_and_by_what(work, tab):
    work.run("risk-now", "risk-now")
    tab.visit(f"{work.studio.home}/p/{work.id}/risk-now")
    tab.until("document.querySelector('.chart svg') !== null")
    text = tab.shown()
    assert "all 60 people" in text
    assert "beagle\t2\t" in text
    assert not tab.errors


def test_a_word_is_looked_up_and_a_wrong_taxonomy_refused(work, tmp_path):
    text = work.get("words?find=dog")
    assert "carnivore" in text
    assert "WordNet lacks it" in work.get("words?find=foodstore.com")
    assert "words?top=yes" in work.get("words")
    assert "words?top=yes" in text
    assert 'words?find=physical%20entity">physical entity</a>' in work.get("words?top=yes")
    status, _, text = work.post("words", taxonomy="/nowhere/tree.tsv")
    assert status == 422
    assert 'value="/nowhere/tree.tsv"' in text
    assert "does not exist" in text
    tree = tmp_path / "tree.tsv"
    tree.write_text("pet\troot\ndog\tpet\n", encoding="utf-8")
    assert work.post("words", taxonomy=str(tree))[0] == 303
    assert "pet" in work.get("words?find=dog")
    assert 'words?find=pet">pet</a>' in work.get("words?top=yes")
    assert work.post("words", taxonomy="")[0] == 303
    assert "taxonomy" not in read_project(work.folder, work.id).choices


def test_what_was_chosen_before_is_at_the_top(work):
    def top(screen):
        text = work.get(screen).partition('<dl class="chosen"')[2].partition("</dl>")[0]
        return re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", text)

    project = read_project(work.folder, work.id)
    add_move(work.folder, project, "dog", "music")
    change_project(work.folder, project, choices={"taxonomy": "/x/tree.tsv", "cap": "2", "certificate": "no"})
    words = ("Words", "tree.tsv, 1 moved")
    try:
        assert (top("words"), top("choose")) == ([("Data", "sixty")], [("Data", "sixty"), words])
        chosen = [
            ("Goal", "words"),
            ("People who share it", "k = 5"),
            ("Counts of one person", "2"),
            ("Certificate", "no"),
        ]
        assert top("run") == [("Data", "sixty"), words, *chosen]
    finally:
        undo_move(work.folder, read_project(work.folder, work.id), 1, "dog")
        write_struct(work.folder.projects / work.id / "project.json", project)


def test_a_dropped_taxonomy_is_used_and_a_broken_one_leaves_nothing(work):
    before = set((work.folder.inputs).iterdir())
    address = f"/p/{work.id}/words/dropped?name=tree.tsv"
    status, _, text = work.studio.ask("PUT", address, "a\tb\nb\ta\n")
    assert (status, "cannot be used" in text) == (422, True)
    assert set(work.folder.inputs.iterdir()) == before
    status, _, text = work.studio.ask("PUT", address, "dog\tpet\npet\troot\n")
    assert (status, json.loads(text)["see"]) == (200, f"/p/{work.id}/words")
    assert read_project(work.folder, work.id).choices["taxonomy"].endswith("/tree.tsv")
    work.post("words", taxonomy="")


def test_before_and_after_of_a_release(work, tab):
    work.run("run", "release")
    text = work.get("before-after?with=dog")
    assert "<b>dog</b> is published as itself" in text
    assert "<b>beagle</b> is not published" in work.get("before-after?with=beagle")
    address = f"/p/{work.id}/before-after/sixty-1/originals.html"
    status, headers, text = work.studio.ask("GET", address)
    assert status == 200
    assert "beagle" in text  # what is not published
    assert headers["Content-Security-Policy"].startswith("sandbox")
    tab.visit(f"{work.studio.home}/p/{work.id}/before-after")
    tab.run("document.getElementById('with').value = 'house'; true")
    tab.press("form[role=search] button")
    assert "house is published as itself" in tab.shown("#fate")


def test_risk_after_has_before_after_and_control(work, tab):
    assert "was not attacked yet" in work.get("risk-after")
    work.run("risk-after/sixty-1", "risk")
    tab.visit(f"{work.studio.home}/p/{work.id}/risk-after")
    text = tab.shown()
    assert "Can a person be singled out?" in text
    assert "are singled out by known items, drawn at random (3 known)" in text
    heads = tab.run("[...document.querySelectorAll('table:last-of-type thead th')].map(one => one.innerText)")
    assert heads[-4:] == ["before", "after", "control", "risk"]
    assert not tab.errors


def test_releases_of_a_series_are_listed_with_the_index_that_may_be_published(work):
    index = f"/p/{work.id}/releases/index.json"
    assert work.studio.ask("GET", index)[0] == 404
    assert 'id="series"' not in work.get("releases")
    for window in ("..2006-03-01", "new..2006-03-02"):
        assert work.post("choose", goal="words", k="5", series="yes", window=window)[0] == 303
        work.run("run", "release")
    text = work.get("releases")
    for name, time in (
        ("sixty-2", "..2006-03-02T00:00:00Z"),
        ("sixty-3", "2006-03-02T00:00:00Z..2006-03-03T00:00:00Z"),
    ):
        assert f'<th scope="row">{name}</th><td>{time}</td><td class="number">10</td><td>made</td>' in text
    line = f"incrowd audit --series {work.folder.path}/private/{work.id}-series"
    assert line in re.sub("<[^>]*>", "", text)
    status, headers, given = work.studio.ask("GET", index)
    assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="index.json"')
    assert [one["name"] for one in json.loads(given)["releases"]] == ["sixty-2", "sixty-3"]
    warned = work.get("publish?release=sixty-3").partition("notice care")[2].partition("</p>")[0]
    assert "sixty-1" in warned
    assert "sixty-2" not in warned  # they do not overlap
    assert "whose releases do not overlap" in work.get("publish?release=sixty-3")
    assert "whose releases do not overlap" not in work.get("publish?release=sixty-1")
