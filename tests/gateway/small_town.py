"""A small synthetic town: the table of its people, the same people as a provider's rows, and a gateway between."""

from __future__ import annotations

import contextlib
import csv
import itertools
from pathlib import Path

from gateway.harness import RunningGateway, configuration
from gateway.upstream import Upstream

PLACES = ("Essex", "Dukes")
RACES = ("Black", "White")
GENDERS = ("Female", "Male")
# The first kind of people has few incomes: a query with all three attributes discloses the income.
REVEALING = {"county": "Essex", "race": "Black", "gender": "Female"}
COLUMNS = (*REVEALING, "income")


def people():
    """Return all people, each with a number."""
    kinds = list(itertools.product(PLACES, RACES, GENDERS))
    incomes = [10, 20, 30, 40, 50, 60]
    everybody = [
        (*kind, income) for kind in kinds for income in (incomes[:2] if kind == kinds[0] else incomes)
    ]
    return [{"id": number, **dict(zip(COLUMNS, one, strict=True))} for number, one in enumerate(everybody, 1)]


def write_table(folder):
    """Write what an outsider may know; return the file."""
    file = Path(folder) / "people.csv"
    with file.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(people())
    return file


def provider(url, **changes):
    return {"kind": "http", "url": url, "rows": "/items", **changes}


@contextlib.contextmanager
def open_town(folder, rows=None, **changes):
    """Run a gateway before a provider; yield both. `changes` replace parts of the configuration."""
    with Upstream(people() if rows is None else rows) as upstream:
        config = configuration(write_table(folder), provider(upstream.url), **changes)
        with RunningGateway(folder, config) as gateway:
            yield gateway, upstream
