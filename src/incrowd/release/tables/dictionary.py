"""The data dictionary: what each table is, and each of its columns, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incrowd.core.claims import plural_of
from incrowd.release.files.noisy_list import ListParameters
from incrowd.release.tables.sets import Counting

__all__ = ["TITLE", "about_lists", "about_records", "about_tiles", "column_note", "readme", "table_note"]

TITLE = "# Tables of an incrowd release"
TABLES = {
    "items": "Every published label, the most frequent first.",
    "pairs": "Pairs of items, by how many units have both.",
    "trends": "Items by day, week or month, the most frequent items first.",
}
COLUMNS = {
    "kind": "What the label is: `item` for words, queries and the like; else the kind of label, as `url` or `week`.",
    "item": "The text of the label.",
    "item_a": "The text of the first label of the pair.",
    "item_b": "The text of the second label of the pair.",
    "query": "The query.",
    "address": "The address that was clicked after it.",
    "period": "The day, week or month.",
    "exact": "True: the very item. False: a class, which stands for rarer items below it that are not published themselves.",
    "tiles": "How many distinct tiles have the label.",
    "units": "How many units hold it: the sum over its tiles, of people who count, each at most `cap` times a tile.",
    "occurrences": "How often all these records say it, copies counted.",
    "joint": "Units with a tile that holds both: they are together for certain (each person at most `cap` times a tile).",
    "estimate": "Estimated units that have both: `joint` and what chance adds among the other units of the two.",
    "error": "The standard error of `estimate` if nothing but chance brings the others together; the estimate may be further off where that is not so.",
    "lower": "At least so many units have it (or both), for certain.",
    "upper": "At most so many units have it (or both), for certain; the number of all units, rounded up, where `cap` hides how many.",
    "people_low": "At least so many people have it (or both in one unit), for certain. Exact where it equals `people_high`.",
    "people_high": "At most so many people have it (or both in one unit), for certain.",
    "noisy_count": "The count with the noise of differential privacy; what is counted is said above.",
}
OF_RECORDS = {
    "units": "How many published records say it; each is a unit's.",
    "joint": "How many published records say both.",
}


def table_note(name: str) -> str:
    """Return what a table is."""
    return TABLES.get(
        name, f"Pairs of an item and a label of kind `{name.partition('_')[2]}`, by how many units have both."
    )


def column_note(table: str, column: str, *, of_records: bool = False) -> str:
    """Return what a column is."""
    if of_records and column in OF_RECORDS:
        return OF_RECORDS[column]
    if column in COLUMNS:
        return COLUMNS[column]
    if column.partition("_")[0] == "exact" or column.endswith("_exact"):
        return "True: the very label. False: a class, which stands for rarer ones below it."
    return f"The label of kind `{table.partition('_')[2]}`."


def about_tiles(counting: Counting) -> list[str]:
    """Say how the numbers of tiles are to be read."""
    unit = counting.unit.partition(":")[0]
    said = [f"A unit is a {unit}. About {counting.units_about:,} {plural_of(unit)} were read (rounded)."]
    if counting.one_each:
        said.append(
            "Each person has one unit, so numbers of units are numbers of people, and no cap applies."
        )
    else:
        said.append(
            f"A person counts at most {counting.cap:,} times in the units of a tile: units are fewer than there were where "
            "people repeat themselves. Numbers of people do not have this error."
        )
    if counting.is_rounded:
        said.append("Numbers of tiles were rounded by up to 4; `lower` and `upper` allow for that.")
    said.append(
        "Bounds are of people who count, and leave out tiles that nearly everybody holds: those are not published."
    )
    return said


def about_records(*, is_class: bool) -> list[str]:
    """Say how the numbers of records are to be read."""
    whose = "A record describes a class of people: what it says need not be true of each." if is_class else ""
    said = "Numbers are those of published records. What was generalized is counted as the class that is published, not as the item."
    return [said, *([whose] if whose else [])]


def about_lists(parameters: ListParameters) -> list[str]:
    """Say how the numbers of a list are to be read."""
    form, spending = parameters.form, parameters.spending
    said = [
        f"A count is the number of {form.counted}, with noise. Nothing says which {form.several} are one person's."
    ]
    if spending is not None:
        said.append(f"The noise of a count is at most {spending.error_bar:,} in 19 of 20 cases.")
    return said


def readme(
    words: str, about: Sequence[str], tables: Mapping[str, tuple[int, Sequence[str]]], *, of_records: bool
) -> str:
    """Return the data dictionary as a page of Markdown, given each table's number of rows and columns."""
    lines = [
        TITLE,
        "",
        f"Made from the files of a release alone. Of the release: {words}",
        "",
        *(f"- {line}" for line in about),
    ]
    for name, (rows, columns) in tables.items():
        lines += [
            "",
            f"## {name}",
            "",
            f"{table_note(name)} {rows:,} rows.",
            "",
            "| column | what it is |",
            "|---|---|",
        ]
        lines += [
            f"| `{column}` | {column_note(name, column, of_records=of_records)} |" for column in columns
        ]
    return "\n".join(lines) + "\n"
