"""What attackers get, before and after each method: the figures of ``incrowd risk`` on public data and on made-up users.

    python benchmarks/risk.py [--quick] [--data DIR] [--only retail] [--methods flock,mosaic]

Prints Markdown. The public data is read from ``--data`` (default ``INCROWD_DATA``, else ``../shared/data`` from the project's
root): BMS-WebView-2 and retail, where a record is a person, under balanced:5. 1,000 users are made up by ``incrowd synth``; their items are terms on WordNet,
their units sessions of 30 minutes for mosaic and whole people for the others. k = 5 and defaults; 1,000 people are attacked for each figure.
"Two releases" are k = 5 and k = 6. A method that cannot run on some data, or takes too long there, is listed with the reason.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import incrowd as ic
from incrowd.attacks.attacked import Setting
from incrowd.attacks.rates import Figure
from incrowd.attacks.result import Side
from incrowd.errors import IncrowdError
from incrowd.jobs.attack_plan import Plan, made_of, published_by
from incrowd.jobs.attacks import attack_published, attack_raw
from incrowd.jobs.subject import Subject, subject_without_times
from incrowd.logs.synth.generate import write_log
from incrowd.taxonomy import Attached
from public_data import DATA, existing

__all__ = ["Data", "attacked", "cells", "line"]

METHODS = ("flock", "partition", "clump", "ssc", "apriori", "mosaic", "suppress")
K, SEED, DRAWS, USERS = 5, 1, 1_000, 1_000
QUICK_USERS, QUICK_BASKETS, QUICK_DRAWS = 60, 300, 40
PS = (1, 2, 3, 5, 10)


class Data(NamedTuple):
    """People's items on a taxonomy: whole people, and their sessions where there are any."""

    name: str
    whole: Attached
    sessions: Attached

    def of(self, method: str) -> Attached:
        """Return the units that a method works on."""
        return self.sessions if method == "mosaic" else self.whole


def on_tree(rows: ic.Transactions, tree: ic.Taxonomy) -> Attached:
    return Attached(rows, tree, 0, 0)


def read_baskets(directory: Path, name: str, most: int | None) -> Data:
    lines = existing(directory / f"transactions/{name}.dat").read_text(encoding="ascii").splitlines()
    rows = ic.Transactions.from_rows([set(bag) for bag in map(str.split, lines) if bag][:most])
    made = on_tree(rows, ic.balanced(rows, 5))
    return Data(name, made, made)


def make_up(users: int) -> Data:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        write_log(path, users=users)
        with ic.read_log(path) as log:
            whole, sessions = (log.transactions(unit=unit, items="terms") for unit in ("user", "session:30m"))
    return Data("synth users", *(on_tree(rows, ic.wordnet(rows)) for rows in (whole, sessions)))


def attacked(data: Data, method: str, draws: int) -> tuple[Side, float]:
    """Make a release and attack it; return what the attacks found, and the seconds that they took."""
    units = data.of(method)
    release = ic.anonymize(units.transactions, units.taxonomy, method=method, k=K, seed=SEED)
    begun = time.perf_counter()
    side = attack_published(
        subject_without_times(units), published_by(release), made_of(release), plan(draws)
    )
    return side, time.perf_counter() - begun


def plan(draws: int) -> Plan:
    return Plan(Setting(K, draws))


def cells(side: Side) -> Iterator[str]:
    """Yield the figures of a line: singled out and found by a guess, by known items; linked; guessed; each beside its control."""
    for name in ("unicity", "reidentified"):
        found = side.found[name]
        yield " / ".join(f"{found[p].value:.1%}" for p in PS)
    yield shown(side.found["halves"])
    yield "; ".join(shown(figure) for figure in side.found["one_more_item"].values())
    yield f"{side.found['marketer'].value:.1%}"


def shown(figure: Figure) -> str:
    control = "" if figure.control is None else f" ({figure.control.value:.1%})"
    return f"{figure.value:.1%}{control}"


def line(*parts: object) -> str:
    return f"| {' | '.join(map(str, parts))} |"


def raw_of(subject: Subject, draws: int) -> tuple[Side, float]:
    begun = time.perf_counter()
    return attack_raw(subject, plan(draws)), time.perf_counter() - begun


def print_table(everything: Sequence[Data], methods: Sequence[str], draws: int) -> None:
    known = ", ".join(map(str, PS))
    head = (
        "data",
        "published",
        f"singled out by {known} known items",
        "found by a guess among the candidates",
        "halves linked (control)",
        "one more item guessed, 1, 3 and 10 known (control)",
        "marketer risk",
        "seconds",
    )
    print(line(*head))
    print(line(*["---"] * len(head)))
    for data in everything:
        side, seconds = raw_of(subject_without_times(data.whole), draws)
        print(line(data.name, "raw", *cells(side), f"{seconds:.1f}"), flush=True)
        for method in methods:
            try:
                side, seconds = attacked(data, method, draws)
            except IncrowdError as error:
                print(line(data.name, method, str(error), *[""] * 5), flush=True)
                continue
            print(line(data.name, method, *cells(side), f"{seconds:.1f}"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tiny size, to test that it runs")
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the public data sets")
    parser.add_argument("--only", help="the name of one set of data")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods by comma")
    options = parser.parse_args()
    most = QUICK_BASKETS if options.quick else None
    names = [name for name in ("BMS-WebView-2", "retail") if options.only in (None, name)]
    everything = [read_baskets(options.data, name, most) for name in names]
    if options.only in (None, "synth"):
        everything.append(make_up(QUICK_USERS if options.quick else USERS))
    print_table(everything, options.methods.split(","), QUICK_DRAWS if options.quick else DRAWS)


if __name__ == "__main__":
    main()
