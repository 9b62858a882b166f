"""The experiments of Batet et al., Information Sciences 2013 (figures 2 and 3): L and RL of all methods.

    python benchmarks/reproduce_microaggregation.py [--quick] [--out DIR]

The paper takes 1,000 users with 56,000 queries of the AOL log and the Open Directory; here users are made up by
``incrowd synth``, and the knowledge base is WordNet. k = 2 to 7 for the methods that group, d = 1 to 20 for Korolova et
al., Kp = 2 to 40 for Poblete et al.; 80 clusters, as in the paper. The methods of the papers publish what they publish
there (``verbatim=true``), but for "microaggregation, safe". What comes out: docs/experiments.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import incrowd as ic
from incrowd.errors import BadInputError
from incrowd.logs.synth.generate import write_log
from incrowd.methods.baselines import microaggregation as baselines
from incrowd.metrics.tasks import linkage, user_group_change
from incrowd.taxonomy import attach
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from plots import Experiment, Measure, Style, publish, read_options

USERS, QUICK_USERS = 1_100, 60
KS, DS, KPS = (2, 3, 4, 5, 6, 7), (1, 2, 5, 10, 20), (2, 5, 10, 20, 40)
CLUSTERS, QUICK_CLUSTERS = 80, 10
GROUPING: dict[str, dict[str, Any]] = {
    "microaggregation": {"method": "microaggregation", "verbatim": True},
    "microaggregation, safe": {"method": "microaggregation"},
    "Erola et al.": {"method": "erola", "verbatim": True},
    "Navarro et al.": {"method": "navarro", "verbatim": True},
    "not semantic": {"method": "plain", "verbatim": True},
}
STYLES = {
    "microaggregation": Style("#D55E00", "s"),
    "microaggregation, safe": Style("#D55E00", "s", "--"),
    "Erola et al.": Style("#0072B2", "^"),
    "Navarro et al.": Style("#009E73", "D"),
    "not semantic": Style("#000000", "o"),
    "Korolova et al.": Style("#CC79A7", "v"),
    "Poblete et al.": Style("#8a6d00", "P"),
}
# The distances of spelling do not depend on k, and take longer than all the rest.
baselines.navarro_distances = lru_cache(baselines.navarro_distances)  # type: ignore[assignment]


class Data:
    """Users and what their queries mean."""

    def __init__(self, users: int, clusters: int) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "log.tsv"
            write_log(path, users=users, people="all")
            with ic.read_log(path) as log:
                rows = log.transactions(items="concepts", events=True)
        self.rows, self.tree = attach(rows, wordnet_tree(), unlisted="keep")[:2]
        self.clusters = clusters

    def measured(self, **settings: Any) -> tuple[float, float]:
        """Return L and RL of a method; if it publishes nothing, all is lost and nothing is linked."""
        try:
            release = ic.anonymize(self.rows, self.tree, **settings)
        except BadInputError as error:
            if "leaves nothing to publish" not in str(error):
                raise
            return 100.0, 0.0
        if not len(release.classes.nodes):  # an empty list
            return 100.0, 0.0
        whole = {"sample": len(self.rows)}
        lost = user_group_change(self.rows, self.tree, release.classes, clusters=self.clusters, **whole)
        return lost, linkage(self.rows, self.tree, release.classes, **whole)


def figures(
    title: str, x_label: str, xs: Sequence[int], runs: dict[str, list[tuple[float, float]]]
) -> Experiment:
    """Return a panel of L and one of RL."""
    lost = {name: [pair[0] for pair in pairs] for name, pairs in runs.items()}
    linked = {name: [pair[1] for pair in pairs] for name, pairs in runs.items()}
    measures = [
        Measure("L, percent", ".1f", lost, f"Figure 2: {title}"),
        Measure("RL, percent", ".1f", linked, f"Figure 3: {title}"),
    ]
    return Experiment(title, x_label, xs, measures)


def rarely_typed(data: Data, ks: Sequence[int]) -> str:
    """Count what the safe default saves: published queries that a single person typed."""
    words = []
    for k in ks:
        release = ic.anonymize(data.rows, data.tree, k=k, method="microaggregation", verbatim=True)
        events, texts = data.rows.events, release.classes.texts
        assert events is not None
        assert texts is not None
        owners: dict[str, set[int]] = {text: set() for text in texts.to_pylist() if text is not None}
        names = events.texts.to_pylist()
        for row in range(len(data.rows)):
            for query in events.query[events.start[row] : events.start[row + 1]].tolist():
                if names[query] in owners:
                    owners[names[query]].add(row)
        alone = sum(len(people) == 1 for people in owners.values())
        words.append(f"k = {k}: {alone:,} of {len(owners):,}")
    return f"Queries of one person only among those that verbatim mode publishes: {'; '.join(words)}.\n"


def experiments(data: Data) -> Iterator[Experiment]:
    """Yield figures 2 and 3."""
    print(f"{data.rows}\n{len(data.rows.events or ()):,} queries\n", flush=True)
    runs = {name: [data.measured(k=k, **settings) for k in KS] for name, settings in GROUPING.items()}
    yield figures("methods that group", "k", KS, runs)
    noisy = [data.measured(method="korolova", d=d, eps=2.0, delta=0.0099) for d in DS]
    yield figures("Korolova et al.", "d", DS, {"Korolova et al.": noisy})
    removed = [data.measured(k=2, method="poblete", kp=kp) for kp in KPS]
    yield figures("Poblete et al.", "Kp", KPS, {"Poblete et al.": removed})


def main() -> None:
    options = read_options(__doc__)
    users, clusters = (QUICK_USERS, QUICK_CLUSTERS) if options.quick else (USERS, CLUSTERS)
    data = Data(users, clusters)
    publish(experiments(data), STYLES, "reproduce-microaggregation", options.out, columns=2)
    print(rarely_typed(data, KS[:1] if options.quick else KS))


if __name__ == "__main__":
    main()
