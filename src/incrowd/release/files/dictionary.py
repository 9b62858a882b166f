"""What every file, column, parameter and number of a release means: one plain sentence each, for pages that people read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from incrowd.release.files.parts import part_files

__all__ = [
    "CLAIM",
    "FILES",
    "NUMBERS",
    "PARAMETERS",
    "WRITTEN",
    "Entry",
    "columns_in",
    "file_in_words",
    "unit_in_words",
]


class Entry(NamedTuple):
    """A name, what it is (a type or a value), and what it means."""

    name: str
    what: str
    meaning: str


FILES: Mapping[str, str] = {
    "manifest.json": "What the release says of itself: promise, method, parameters, counts and measures.",
    "report.html": "The same as a page for readers; it opens offline and follows from the other files.",
    "taxonomy.parquet": "The published labels and the classes above them, one row each.",
    "tiles.parquet": "The tiles, one row each: sets of labels that many people hold.",
    "tiles.jsonl": "The tiles again, as one JSON object a line.",
    "tiles.csv": "The tiles again, as one line for each label of each tile.",
    "tiles.dat": "The tiles again, one a line, each as often as units hold it; it has no columns.",
    "records.parquet": "The records, one row each.",
    "records.jsonl": "The records again, as one JSON object a line.",
    "records.csv": "The records again, as one line for each item of each record.",
    "records.dat": "The records again, one a line, items as often as they count; it has no columns.",
}
_ITEMS = "The labels, in code point order: items as they are in the data, or classes that stand for items."
_EXACT = "Of each label whether it is the very item (true) or a class (false)."
_ONE_EXACT = "Whether the label is the very item (true) or a class (false)."
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "tiles": {
        "items": _ITEMS,
        "exact": _EXACT,
        "people": "How many different people hold the tile.",
        "units": "How many units hold the tile; a person counts at most as often as the parameter cap says.",
        "order": "In which order the labels are read, as places in items from 0; empty where it is their own order.",
        "tile": "The number of the tile, from 0, in the order of tiles.parquet.",
        "item": "One label of the tile; a class is written in angle quotation marks.",
        "kind": "Which kind of items the label is of: items for the main ones, else as url or week.",
    },
    "records": {
        "items": _ITEMS,
        "exact": _EXACT,
        "counts": "How often the record has each label.",
        "record": "The number of the record, from 0, in the order of records.parquet.",
        "item": "One label of the record; a class is written in angle quotation marks.",
        "count": "How often the record has the label.",
    },
    "taxonomy": {
        "kind": "Which kind of items the label is of, as url or week; nothing for the main ones.",
        "label": "The name of a published item or class.",
        "exact": _ONE_EXACT,
        "parent": "The class right above it; nothing for the topmost.",
        "level": "How deep it lies: 1 for the topmost.",
        "leaves": "How many items the class can stand for; nothing where there is no limit.",
    },
}
KINDS: Mapping[str, str] = {
    "url": "clicked addresses",
    "shown": "addresses that were shown",
    "hour": "hours of the day",
    "day": "days",
    "week": "weeks",
    "month": "months",
    "place": "places",
    "device": "kinds of device",
    "language": "languages",
}
WRITTEN: Mapping[str, str] = {
    "url": "Without scheme and fragment, as example.gov/moon?page=2; a class is the page without what follows the question mark, the site (example.gov), or the ending of sites (.gov).",
    "shown": "With the rank behind, as example.gov/moon #2; a class is the address without the rank, or what lies above that.",
    "hour": "The hour's first minute (UTC), as 09:00; a class is six hours, as 06:00-12:00.",
    "day": "As 2006-03-31 (UTC); a class is the ISO week or the year.",
    "week": "ISO weeks, from Monday on (UTC), as 2006-W13; a class is the year.",
    "month": "As 2006-03 (UTC); a class is the quarter, as 2006-Q1, or the year.",
    "place": "The largest part first, as US/TX/Austin; a class is a region around it, as US/TX.",
    "device": "The most general part first, as mobile/ios; a class is without the last part.",
    "language": "As en-us; a class is the language without the region, as en.",
}
PARAMETERS: Mapping[str, str] = {
    "k": "How many different people (or records, if the claim says so) must share whatever is published.",
    "seed": "The number that random choices follow from.",
    "unit": "What the data were cut into before anything was made of them: {unit}.",
    "taxonomy": "The tree of classes over the items: wordnet, balanced (groups made from the data), or a file.",
    "items": "What an item is: nouns, terms (words), queries (whole), concepts, or raw items of baskets.",
    "sets": "Whether an item counts once in a unit, however often it is there.",
    "unlisted": "What became of items that the taxonomy lacks: kept in a branch of their own, given parents that tell their kinds (name), dropped, or refused.",
    "never": "Words of a list that the publisher keeps were left out before anything was counted; which is not said.",
    "moved": "How many published words hang below another class than the taxonomy has them, as the publisher chose. Without it: none.",
    "first_day": "The first day (UTC) on which at least k people were active; the log may begin earlier.",
    "last_day": "The last day (UTC) on which at least k people were active; the log may end later.",
    "kinds": "Which kinds of items tiles hold beside the main ones.",
    "thresholds": "How many people an item of a kind, or a pair of kinds, needs where that is more than k.",
    "weights": "How much an item of each kind weighs when it is decided what is kept together.",
    "confidence": "At most this share of the people who hold a label hold any other label in the same tile.",
    "cap": "How often one person counts, at most, among the units of a tile.",
    "counts": "Whether numbers of people and units are exact, or rounded in steps of five from k on.",
    "longest": "Units with more labels than this were split; nothing means the default.",
    "coarsest": "A class that covers more than this share of all items says too little and was withheld.",
    "generalize": "Whether rare items were replaced by classes that stand for them (true) or withheld (false).",
    "effort": "How long the method searched for better tiles: fast or best; nothing means by the size of the data.",
    "aged": "On how many different days an account must have been active to count.",
    "follows": "The release follows earlier ones of the same people: so many are alike in all of them, at least.",
    "specificity": "Between 0 (least detail lost) and 1 (most exact items kept).",
    "publish": "What is published of a class of records: sets, bags, or what is common to all of them.",
    "criterion": "By what clusters were chosen: the increase of the loss, or the loss in total.",
    "r": "How many clusters were looked at for each record.",
    "order": "In which order the method took the records.",
    "duplicates": "Whether equal items of a record were kept or dropped.",
    "eps": "How far, in steps of the taxonomy, a published term may be from the one that it stands for.",
    "omega": "What a term that is matched with no other costs, in steps of the taxonomy; nothing means eps + 1.",
    "model": "How terms of different people were matched.",
    "typical": "What stands for terms that were matched: one of them, a bag of them, or a class.",
    "terms": "Whether only terms that enough people have are published (safe) or any (verbatim).",
    "verbatim": "Whether queries that a single person typed may be published, as in the paper.",
    "block_size": "How many records were compared with each other at once.",
    "d": "How many queries of each person were counted, at most.",
    "delta": "The chance with which the promise may fail.",
    "of": "What a list is of: items, pairs of items, queries with clicked addresses, or items by week.",
    "rounds": "In how many rounds the items of a list were looked for.",
    "since": "A day of the first week that is counted; weeks begin on Monday (UTC).",
    "weeks": "How many weeks have counts of their own.",
    "kp": "How many addresses a query needs to be kept.",
    "m": "How many items an attacker may know for the promise to hold.",
}
CLAIM: Mapping[str, str] = {
    "kind": "What sort of promise it is.",
    "k": "How many must share whatever is published.",
    "unit": "What one record, or one unit of tiles, stands for.",
    "distinct": "What k counts: different people, or records.",
    "aged": "On how many different days an account must have been active to count.",
    "m": "How many items an attacker may know.",
    "within": "How far a published item may be from the person's own.",
    "speaks_of": "Whether what is published is true of each owner, or describes a class as a whole.",
    "typed_by": "How many different people typed each published query, at least.",
}
NUMBERS: Mapping[str, str] = {
    "tiles": "Distinct tiles.",
    "larger_tiles": "Tiles of more than one label.",
    "labels": "Distinct labels.",
    "people_min": "How many people hold or share the rarest tile or record.",
    "held": "The sum of the units of all tiles.",
    "units_about": "How many units there were in all, rounded to two digits.",
    "records_out": "Published records.",
    "groups": "Distinct records.",
    "k_min": "How many records are equal to the rarest.",
    "avg_length": "Items of a record, on average.",
    "avg_level": "On which level of the taxonomy items are, on average.",
    "withheld": "Records of which nothing is published.",
    "kept_exactly": "The share of all items of the originals that are published as themselves.",
    "items_error": "By how much counts of the 1,000 most frequent items are off, on average.",
    "pairs_recall": "Of the 1,000 most frequent pairs of items, the share that is found.",
    "pairs_error": "By how much counts of these pairs are off, on average.",
    "links_kept": "The share of all pairs of items of a unit that are published together.",
    "trend_error": "By how much weekly counts of the 100 most frequent items are off.",
    "clicks_recall": "Of the 1,000 most frequent pairs of query and address, the share that is found.",
}
_TEXT_TYPES: Mapping[tuple[str, str], str] = {
    ("csv", "item"): "text",
    ("csv", "kind"): "text",
    ("csv", "exact"): "true or false",
    ("jsonl", "items"): "list of text",
    ("jsonl", "exact"): "list of true or false",
    ("jsonl", "counts"): "list of numbers",
    ("jsonl", "order"): "list of numbers",
}
_UNITS: Mapping[str, str] = {
    "user": "all queries of one person",
    "query": "one query of one person",
    "day": "one person's queries of a day (UTC)",
    "week": "one person's queries of an ISO week (UTC)",
    "record": "one record of the input",
}
_SECONDS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def unit_in_words(unit: str) -> str:
    """Return what a unit is, given as a manifest names it.

    Examples
    --------
    >>> unit_in_words("mini-session:5/600")
    'at most 5 queries of one person, the last at most 10 minutes after the first'
    """
    kind, _, rest = unit.partition(":")
    if kind == "session":
        return f"the queries of one person up to a pause of more than {_length(int(rest))}"
    if kind == "mini-session":
        most, within = map(int, rest.split("/"))
        return f"at most {most:,} queries of one person, the last at most {_length(within)} after the first"
    return _UNITS[kind]


def _length(seconds: int) -> str:
    """Spell a length of time in the largest unit that fits."""
    size, name = next((one for one in _SECONDS if seconds and not seconds % one[0]), _SECONDS[-1])
    number = seconds // size
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def file_in_words(name: str) -> str:
    """Return what a file of a release is."""
    return FILES[name]


def columns_in(path: Path) -> list[Entry]:
    """Return the columns that a file of a release really has, each with its type and what it means."""
    stem, _, form = path.name.partition(".")
    if form == "parquet":
        schema = pq.read_schema(part_files(path)[0])
        named = [(field.name, _type_of(str(field.type))) for field in schema]
    elif form in ("jsonl", "csv"):
        named = [(name, _text_type(form, name)) for name in _names_in(path, form)]
    else:
        return []
    one = form == "csv"  # a line for each label
    return [
        Entry(name, what, _ONE_EXACT if one and name == "exact" else _meaning(stem, name))
        for name, what in named
    ]


def _names_in(path: Path, form: str) -> list[str]:
    with path.open(encoding="utf-8") as file:
        line = file.readline()
    return list(json.loads(line or "{}")) if form == "jsonl" else line.strip().split(",")


def _text_type(form: str, name: str) -> str:
    kind, _, rest = name.partition("_")
    usual = (
        name if kind not in KINDS else "exact" if rest else "items"
    )  # columns of a kind are as those of the main one
    return _TEXT_TYPES.get((form, usual), "number")


def _meaning(stem: str, name: str) -> str:
    kind, _, rest = name.partition("_")
    if name in COLUMNS[stem]:
        return COLUMNS[stem][name]
    if kind in KINDS and rest == "exact":
        return f"Of each of the {KINDS[kind]} whether it is the very one (true) or a class (false)."
    return f"The {KINDS[kind]} of the tile. {WRITTEN[kind]}" if kind in KINDS else ""


def _type_of(text: str) -> str:
    """Return a column's type as people know it."""
    plain = re.sub(r"\bint\d+\b", "number", re.sub(r"list<\w+: (\w+)>", r"list of \1", text))
    named = plain.replace("string", "text").replace("bool", "true or false")
    return named.replace("list of number", "list of numbers")
