"""Which method for which question: the best run of each promise, by the measure that answers the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.report.html import share

__all__ = ["Answer", "Choice", "choices", "in_words", "shown_ks"]

Run = Mapping[str, Any]
MOST_KS = 4
LESS, MORE = 1, -1
FINE, POOR = 0.1, 0.5  # a figure is called good or poor if it is so far from perfect, or farther
# What somebody gets to see under each promise; releases that promise nothing are no choice.
PUBLISHED = {
    "k-anonymity": "whole records",
    "k^m-anonymity": "records, m known",
    "k-anonymous tiles": "tiles",
    "differential privacy": "noisy list",
}
RECORDS = ("k-anonymity", "k^m-anonymity")  # losses of records say nothing of what has none


class Question(NamedTuple):
    """A question, in full and in short, the measure that answers it, its figure in words, and whether less or more is better."""

    text: str
    short: str
    measure: str
    figure: str
    sign: int = LESS


class Answer(NamedTuple):
    """The best run of one promise: its label, its figure, and whether that is good, poor or in between (an empty text)."""

    label: str
    published: str
    figure: str
    verdict: str


class Choice(NamedTuple):
    """A question, and for each k the answers, the best first."""

    question: Question
    answers: list[list[Answer]]


QUESTIONS = (
    Question("How often does an item occur?", "counts of items", "use_items_error", "off by {}"),
    Question(
        "Which pairs of items are frequent?",
        "frequent pairs",
        "use_pairs_recall",
        "{} found",
        MORE,
    ),
    Question("How often do two items occur together?", "counts of pairs", "use_pairs_error", "off by {}"),
    Question("How many items stay as they are?", "items as themselves", "use_kept_exactly", "{} kept", MORE),
    Question("What does one person have as a whole?", "whole people", "ggd_norm", "{} of detail lost"),
    Question("How do counts change from week to week?", "weekly counts", "use_trend_error", "off by {}"),
)


def shown_ks(runs: Sequence[Run]) -> list[int | None]:
    """Return the values of k that are decided on: all if they are few, else the least, the middle and the largest."""
    ks = sorted({run["k"] for run in _candidates(runs) if run["k"] is not None})
    if not ks:
        return [None]
    return ks if len(ks) <= MOST_KS else [ks[0], ks[len(ks) // 2], ks[-1]]


def choices(runs: Sequence[Run]) -> list[Choice]:
    """Return the answers to every question that some run answers; a run without k is a choice at every k."""
    found = [
        Choice(question, [_answers(question, runs, k) for k in shown_ks(runs)]) for question in QUESTIONS
    ]
    return [choice for choice in found if any(choice.answers)]


def in_words(runs: Sequence[Run]) -> str:
    """Return in one sentence which method is best for what, at the middle k; an empty text where no run may be published."""
    ks = shown_ks(runs)
    middle = (len(ks) - 1) // 2
    best: dict[str, list[str]] = {}
    for choice in choices(runs):
        if answers := choice.answers[middle]:
            best.setdefault(answers[0].label, []).append(choice.question.short)
    if not best:
        return ""
    at = "" if ks[middle] is None else f" at k = {ks[middle]}"
    return f"Best{at}: " + "; ".join(f"{label} for {_joined(what)}" for label, what in best.items()) + "."


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _candidates(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that made something publishable: a promise that holds, or that is true by its noise."""
    return [run for run in runs if run["promise"] and run["kind"] in PUBLISHED and run["holds"] is not False]


def _answers(question: Question, runs: Sequence[Run], k: int | None) -> list[Answer]:
    """Return the best run of each promise with some k, the best first."""
    kinds = PUBLISHED if question.measure.startswith("use_") else RECORDS
    able = [
        run
        for run in _candidates(runs)
        if run["k"] in (k, None) and run["kind"] in kinds and run[question.measure] is not None
    ]
    ranked = sorted(able, key=lambda run: question.sign * run[question.measure])
    best = {run["kind"]: run for run in reversed(ranked)}
    return [_answer(question, run) for run in ranked if best[run["kind"]] is run]


def _answer(question: Question, run: Run) -> Answer:
    value = run[question.measure]
    off = value if question.sign == LESS else 1 - value
    verdict = "good" if off <= FINE else "poor" if off >= POOR else ""
    return Answer(run["label"], PUBLISHED[run["kind"]], question.figure.format(share(value)), verdict)
