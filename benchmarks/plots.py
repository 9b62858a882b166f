"""What the reproductions of the papers share: data, timing, tables and plots."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

import incrowd as ic
from public_data import DATA, existing

__all__ = [
    "Experiment",
    "Measure",
    "Style",
    "draw",
    "first_filled",
    "publish",
    "read_data",
    "read_options",
    "run",
    "tables",
]

ROOT = Path(__file__).resolve().parents[1]
PANEL_INCHES = (3.1, 2.3)
LOOK: dict[Any, Any] = {
    "font.size": 8,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
    "axes.titlesize": 8.5,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.markersize": 4.5,
    "lines.linewidth": 1.4,
    "savefig.facecolor": "white",
    "svg.hashsalt": "incrowd",  # the same numbers give the same bytes
}


@dataclass(frozen=True)
class Style:
    """How a line is drawn, the same in every panel."""

    color: str
    marker: str
    dashes: Literal["-", "--"] = "-"


@dataclass(frozen=True)
class Measure:
    """One panel: a quantity, how its numbers are written, and its values by line."""

    name: str
    form: str
    lines: dict[str, list[float]]
    title: str = ""


@dataclass(frozen=True)
class Experiment:
    """What is varied (`x`) and what is measured, a panel for each measure.

    `to_scale` puts x on a true scale, where a straight line means linear growth; values that have no order
    are not `joined` by lines; what is not `drawn` is a table only.
    """

    title: str
    x_label: str
    x: Sequence[int | str]
    measures: list[Measure] = field(default_factory=list)
    to_scale: bool = False
    joined: bool = True
    drawn: bool = True


def read_options(description: str | None) -> argparse.Namespace:
    """Read ``--quick`` and ``--out``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that it runs")
    parser.add_argument(
        "--out", type=Path, help="where the plot and its numbers go (default: docs/images, plot only)"
    )
    return parser.parse_args()


def read_data(name: str) -> ic.Transactions:
    """Read one of the public sets of baskets, or end with the remedy."""
    path = existing(DATA / f"transactions/{name}.dat")
    return ic.Transactions.from_rows(line.split() for line in path.read_text(encoding="ascii").splitlines())


def first_filled(transactions: ic.Transactions, rows: int) -> ic.Transactions:
    """Return the first rows that hold anything; the vocabulary, and so the taxonomy, stays whole."""
    filled = np.flatnonzero(np.diff(transactions.indptr) > 0)[:rows]
    end = int(transactions.indptr[filled[-1] + 1])
    return replace(
        transactions,
        indptr=np.append(transactions.indptr[filled], end),
        items=transactions.items[:end],
        counts=transactions.counts[:end],
        owners=transactions.owners.take(pa.array(filled)),
        people=None if transactions.people is None else transactions.people.take(pa.array(filled)),
    )


def run(
    transactions: ic.Transactions, tree: ic.Taxonomy, *, best_of: int, **settings: Any
) -> tuple[float, ic.Losses]:
    """Anonymize some times; return the least seconds (so that compiling does not count) and what is lost."""
    seconds = []
    for _ in range(best_of):
        start = time.perf_counter()
        release = ic.anonymize(transactions, tree, **settings)
        seconds.append(time.perf_counter() - start)
    return min(seconds), release.losses


def tables(experiment: Experiment) -> str:
    """Return an experiment as Markdown, a table for each measure."""
    return "\n".join(_table(experiment, measure) for measure in experiment.measures)


def _table(experiment: Experiment, measure: Measure) -> str:
    lines = [[experiment.x_label, *measure.lines], ["---"] * (len(measure.lines) + 1)]
    for i, x in enumerate(experiment.x):
        lines.append([_number(x), *(format(values[i], measure.form) for values in measure.lines.values())])
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"### {measure.title or experiment.title}: {measure.name}\n\n{rows}\n"


def publish(
    experiments: Iterable[Experiment],
    styles: Mapping[str, Style],
    name: str,
    out: Path | None,
    *,
    columns: int,
) -> None:
    """Print the tables as they are made, then draw those to be drawn; with `out`, keep the numbers too."""
    done = []
    for experiment in experiments:
        print(tables(experiment), flush=True)
        done.append(experiment)
    directory = out or ROOT / "docs/images"
    directory.mkdir(parents=True, exist_ok=True)
    draw(
        [experiment for experiment in done if experiment.drawn],
        styles,
        directory / f"{name}.svg",
        columns=columns,
    )
    if out:
        numbers = [asdict(experiment) for experiment in done]
        (out / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def draw(experiments: Sequence[Experiment], styles: Mapping[str, Style], path: Path, *, columns: int) -> None:
    """Draw every measure as a small panel, with one legend above all."""
    panels = [(experiment, measure) for experiment in experiments for measure in experiment.measures]
    rows = -(-len(panels) // columns)
    with mpl.rc_context(LOOK):
        figure = Figure(
            figsize=(columns * PANEL_INCHES[0], rows * PANEL_INCHES[1] + 0.4), layout="constrained"
        )
        axes = figure.subplots(rows, columns, squeeze=False).flat
        for (experiment, measure), axis in zip(panels, axes, strict=False):
            _draw_panel(axis, experiment, measure, styles)
        legend = [
            Line2D([], [], color=style.color, linestyle=style.dashes, marker=style.marker, label=name)
            for name, style in styles.items()
        ]
        figure.legend(handles=legend, loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})


def _draw_panel(axis: Axes, experiment: Experiment, measure: Measure, styles: Mapping[str, Style]) -> None:
    places = list(_places(experiment))
    for name, values in measure.lines.items():
        style = styles[name]
        dashes = style.dashes if experiment.joined else "none"
        axis.plot(places, values, color=style.color, linestyle=dashes, marker=style.marker, label=name)
    if experiment.to_scale:
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    else:
        axis.set_xticks(places, [_number(x) for x in experiment.x])
        axis.margins(x=0.15 if experiment.joined else 0.5)
    if measure.form.endswith("%"):
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axis.set_ylim(bottom=0)
    axis.set(title=measure.title or experiment.title, xlabel=experiment.x_label, ylabel=measure.name)


def _places(experiment: Experiment) -> Iterator[float]:
    """Yield where each x is drawn."""
    for i, x in enumerate(experiment.x):
        yield float(x) if experiment.to_scale else float(i)


def _number(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:,}"
