"""Forged taxonomies of words that WordNet lacks: every node is held against WordNet and the table."""

from __future__ import annotations

import pytest

from auditing.test_forgeries import aol, forge, made, verdict

WORDS = ["kmart", "margaret", "geocities.com", "zzyzxqqq", "555-1234"]


@pytest.fixture
def release(tmp_path):
    people = {f"u{n}": WORDS for n in range(6)}
    return made(tmp_path, aol(tmp_path / "log.tsv", people), "--unlisted", "name", "--set", "specificity=1")


def renamed(old, new):
    """Return a change of records and one of taxonomy rows that call something by another name."""

    def of_records(table):
        return [(record(labels, counts), size) for (labels, counts), size in table]

    def record(labels, counts):
        pairs = sorted(
            ((new if text == old else text, exact), count)
            for (text, exact), count in zip(labels, counts, strict=True)
        )
        return tuple(label for label, _ in pairs), tuple(count for _, count in pairs)

    def of_rows(rows):
        return [
            row | {name: new if row[name] == old else row[name] for name in ("label", "parent")}
            for row in rows
        ]

    return of_records, of_rows


def test_the_release_is_as_it_says(release):
    assert verdict(release, *release.originals)[0] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("department store", "alice was here"),  # a made-up class
        ("given name of women", "given name of alice"),
        ("kmart", "margate"),  # another word in a word's place
        ("geocities.com", "www.geocities.com"),  # what is published as something else
        ("phone number", "555-1234"),
        ("zzyzxqqq", "johnsmith"),  # in the branch of unlisted words
        ("zzyzxqqq", "walsh"),  # a word that has a place of its own
    ],
)
def test_no_label_is_smuggled_in(release, old, new):
    records, rows = renamed(old, new)
    forge(release, records=records, rows=rows)
    code, said = verdict(release)
    assert code == 1
    assert "WordNet does not have there" in str(said)
