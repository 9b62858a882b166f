"""Words that WordNet lacks, measured: how many get a parent that tells their kind, and what releases gain by it.

    python benchmarks/words.py [--quick] [--data DIR]

Prints tables as Markdown for the Excite log and for 1,000 made-up users (``incrowd synth --users 1000``; ``--quick``: 60 users and no
public data). *Kinds*: the distinct words that are no nouns, verbs, adjectives, adverbs or function words, and their occurrences, by kind
(``--items nouns``). Telling are all kinds but initials, symbols and scripts (their shape says little), rare surnames (too few are surnames) and what is
unknown. *Releases*: k = 5, method flock by user with nouns and mosaic by session with terms. *Says something*: published labels, copies counted, that are not
above all of WordNet, not ``unlisted`` and not made from the data. *Has a label*: items of units that a published tile stands for.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import incrowd as ic
from incrowd.logs import read_log
from incrowd.logs.items import key_of_kind
from incrowd.logs.synth.generate import write_log
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.words import KINDS, name_words
from public_data import existing, read_options

NOT_TELLING = {"shape", "rare surname"}
K = 5


def main() -> None:
    options = read_options(__doc__)
    with tempfile.TemporaryDirectory() as place:
        made = Path(place) / "synth.tsv"
        write_log(made, users=60 if options.quick else 1_000, seed=0)
        logs = {"synth": made}
        if not options.quick:
            logs = {"Excite": existing(options.data / "logs/excite-small.log"), **logs}
        kinds = {name: by_kind(path) for name, path in logs.items()}
        show_kinds(kinds)
        for name, path in logs.items():
            print(
                f"\n{name}: of the occurrences of such words that {K} people typed, {common(path):.1%} have an informative parent."
            )
        print(
            "\n| log | method | unlisted | kept exactly | says something | has a label | item uncertainty (NCP) | item counts off |"
        )
        print("|---|---|---|---:|---:|---:|---:|---:|")
        for name, path in logs.items():
            for method in ("flock", "mosaic"):
                for unlisted in ("keep", "name"):
                    print(
                        f"| {name} | {method} | {unlisted} | {measured(path, method, unlisted)} |", flush=True
                    )


def by_kind(path: Path) -> dict[str, tuple[int, int]]:
    """Return distinct words and occurrences of each kind of words that WordNet lacks."""
    with read_log(path) as log:
        log.transactions(items="nouns", named=True)
        counts = log.summary
    keys = {kind: key_of_kind(kind) for kind in KINDS} | {"unknown": "unlisted"}
    return {
        kind: (counts.get(f"{key}_words", 0), counts.get(f"{key}_occurrences", 0))
        for kind, key in keys.items()
    }


def common(path: Path) -> float:
    """Return the share of kinds with an informative parent in the occurrences of words that WordNet lacks and k people typed."""
    with read_log(path) as log:
        data = log.transactions(items="nouns")
    size = len(data.vocabulary)
    people = np.bincount(data.items, minlength=size)
    times = np.bincount(data.items, weights=data.counts, minlength=size)
    place = np.flatnonzero((people >= K) & (lexicon().nodes_of(data.vocabulary) < 0))
    entries = name_words(data.vocabulary.take(pa.array(place)).to_pylist())
    telling = [entry is not None and entry.kind not in NOT_TELLING for entry in entries]
    return float(times[place[telling]].sum() / times[place].sum())


def show_kinds(kinds: dict[str, dict[str, tuple[int, int]]]) -> None:
    print("| kind |" + "".join(f" {name}, distinct | of occurrences |" for name in kinds))
    print("|---|" + "---:|---:|" * len(kinds))
    totals = {name: tuple(map(sum, zip(*found.values(), strict=True))) for name, found in kinds.items()}
    for kind in [*KINDS, "unknown"]:
        cells = [(found[kind][0], found[kind][1] / totals[name][1]) for name, found in kinds.items()]
        print(f"| {kind} |" + "".join(f" {words:,} | {share:.1%} |" for words, share in cells))
    telling = [kind for kind in KINDS if kind not in NOT_TELLING]
    sums = [
        (
            sum(found[kind][0] for kind in telling) / totals[name][0],
            sum(found[kind][1] for kind in telling) / totals[name][1],
        )
        for name, found in kinds.items()
    ]
    print(
        "| **with an informative parent** |"
        + "".join(f" {words:.1%} | {share:.1%} |" for words, share in sums)
    )


def measured(path: Path, method: str, unlisted: str) -> str:
    how: dict[str, Any] = (
        {"items": "nouns"} if method == "flock" else {"unit": "session:30m", "items": "terms"}
    )
    release = ic.anonymize(path, "wordnet", k=K, method=method, unlisted=unlisted, seed=1, **how)
    use, tree = release.use, release.taxonomy
    if method == "flock":
        classes = release.classes
        rows = np.bincount(classes.of_row[classes.of_row >= 0], minlength=len(classes.start) - 1)
        weight = classes.counts * np.repeat(rows, np.diff(classes.start))
        cells = [f"{said(tree, classes.nodes, weight):.1%}", "-", f"{release.losses.ncp:.3f}"]
    else:
        tiles = release.tiles
        weight = np.repeat(tiles.units, tiles.sizes)
        shown = 1 - tiles.withheld / len(release.transactions.items)
        cells = [f"{said(tree, tiles.nodes, weight):.1%}", f"{shown:.1%}", "-"]
    return " | ".join([f"{use.kept_exactly:.1%}", *cells, f"{use.items_error:.3f}"])


def said(tree: ic.Taxonomy, nodes: np.ndarray, weight: np.ndarray) -> float:
    """Return the share of published labels that say something."""
    entity = tree.labels.index("entity").as_py()
    nothing = np.isin(nodes, [0, entity])
    if tree.made is not None:
        nothing |= tree.made[nodes]
    return float(weight[~nothing].sum() / weight.sum())


if __name__ == "__main__":
    main()
