"""The dials: what can be chosen on the page, each with its meaning, its option on the command line and its argument in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = [
    "CHOICES",
    "COLUMNS",
    "FORM",
    "MAIN",
    "MORE",
    "Dial",
    "goal_of",
    "is_noisy",
    "method_of",
    "said",
    "takes_whole_queries",
]


class Dial(NamedTuple):
    """One thing to choose. Its value is a text, and an empty one says nothing.

    Parameters
    ----------
    name
        The name in :class:`incrowd.jobs.spec.Options`, or of a method's own parameter.
    label, note
        What it is called on the page, and what it does.
    kind
        How it is chosen.
    values
        What there is to choose from, each with what it is called.
    default
        What is taken where nothing was saved yet.
    method
        The method whose own parameter it is; None: an option of every job.
    flag
        The option on the command line, where it is not the name's.
    python
        The argument of :func:`incrowd.anonymize`; None: Python has none.
    usual
        What is taken where nothing is said, to be shown in the empty field.
    """

    name: str
    label: str
    note: str
    kind: Literal["text", "number", "choice", "switch", "long"] = "text"
    values: tuple[tuple[str, str], ...] = ()
    default: str = ""
    method: str | None = None
    flag: str | None = None
    python: str | None = ""
    usual: str = ""

    @property
    def option(self) -> str:
        """The option on the command line."""
        return self.flag or "--" + self.name.replace("_", "-")

    @property
    def argument(self) -> str | None:
        """The argument in Python; None if there is none."""
        return self.name if self.python == "" else self.python

    @property
    def has_no_noise(self) -> bool:
        """Whether it says nothing where a list with noise is made."""
        return self.name in NOT_NOISY


COLUMNS = (
    Dial("user", "Person", "The column that says whose line it is."),
    Dial("query", "Query", "The column with the words that were typed."),
    Dial("time", "Time", "When. Without it a unit is a whole person."),
    Dial("url", "Clicked address", "What was clicked, if the log has it."),
)
FORM = (
    Dial(
        "format",
        "Format",
        "How the file is written. Automatic is right for most files.",
        "choice",
        (
            ("", "automatic"),
            ("aol", "AOL"),
            ("excite", "Excite"),
            ("sogou", "Sogou"),
            ("apache", "access log (Apache, nginx)"),
            ("csv", "CSV"),
            ("tsv", "TSV"),
            ("jsonl", "JSON lines"),
            ("json", "JSON array"),
            ("parquet", "Parquet"),
            ("dat", "baskets, one a line"),
        ),
    ),
    Dial("encoding", "Encoding", "As gbk, latin-1 or utf-16. Empty: UTF-8."),
    Dial("delimiter", "Delimiter", "What separates fields: a character, or tab, comma, semicolon, pipe."),
    Dial("time_format", "Times are written as", "As strptime has it: %d/%m/%Y %H:%M."),
    Dial("day", "Day", "YYYY-MM-DD, where times are times of day alone."),
)
MAIN = (
    Dial(
        "k",
        "People who must share it (k)",
        "Whatever is published is shared by at least this many people. More people: less risk, and less detail.",
        "number",
        default="5",
    ),
    Dial(
        "confidence",
        "Surest guess",
        "At most this share of the people who hold one word hold any other word of the same tile. 1 sets no limit.",
        method="mosaic",
        usual="0.8",
    ),
    Dial(
        "cap",
        "Counts of one person",
        "How often one person counts in a tile at most, so that one heavy user does not show.",
        "number",
        method="mosaic",
        usual="3",
    ),
    Dial(
        "counts",
        "Numbers",
        "Exact numbers, or rounded to k, k + 5, k + 10 and so on.",
        "choice",
        (("", "exact"), ("rounded", "rounded")),
        method="mosaic",
    ),
    Dial(
        "specificity",
        "Exact words",
        "From 0 to 1. 1 keeps as many words exactly as it can, and makes the others coarser.",
        method="flock",
        usual="0.85",
    ),
)
MORE = (
    Dial(
        "method", "Method", "A method by name instead of the goal's. It decides what is promised.", "choice"
    ),
    Dial(
        "items",
        "Items",
        "What is taken out of a query. Empty: what suits the method.",
        "choice",
        (
            ("", "as suits the method"),
            ("terms", "words"),
            ("nouns", "nouns"),
            ("queries", "whole queries"),
            ("concepts", "concepts"),
            ("raw", "raw items"),
        ),
    ),
    Dial(
        "unit",
        "Unit",
        "What is protected as one: user, session:30m, day, week. Empty: what suits the method.",
    ),
    Dial("taxonomy", "Taxonomy", "wordnet, balanced:5, or the path of a file. Empty: what suits the items."),
    Dial(
        "unlisted",
        "Words that the taxonomy lacks",
        "Named by their kind, kept in a branch of their own, dropped, or a reason to refuse.",
        "choice",
        (
            ("", "as suits the items"),
            ("name", "named by their kind"),
            ("keep", "kept apart"),
            ("drop", "dropped"),
            ("refuse", "refused"),
        ),
    ),
    Dial("never", "Never publish", "The path of a list of words, one a line.", python=None),
    Dial(
        "kinds",
        "Further kinds of items",
        "For tiles: url, shown, hour, day, week, month, place, device, language, separated by commas.",
    ),
    Dial("window", "Time", "Only events of this time, as 2006-03-01..2006-03-31; new in a series."),
    Dial("title", "Title", "What to call the data on the release's page. It is published.", python=None),
    Dial("date", "Date", "A day to put on the page, YYYY-MM-DD. It is published.", python=None),
    Dial("text_forms", "Text files", "Beside Parquet: any of jsonl, csv, dat.", flag="--write", python=None),
    Dial(
        "memory", "Memory", "The most that the job may take, as 4GB. Empty: three quarters of the machine's."
    ),
    Dial(
        "max_risk",
        "Most risk",
        "Attack it first, and publish nothing above this: singling_out=0.01, linkability, inference.",
        python=None,
    ),
    Dial(
        "series",
        "Part of a series",
        "For a log that grows: what was released of it before is kept beside, and a release that overlaps is refused. With new as the time, a release goes on where the last one ended.",
        "switch",
        default="no",
        python=None,
    ),
    Dial(
        "certificate",
        "Certificate",
        "Two pages beside the release: what is promised and was checked, to print, and every column explained.",
        "switch",
        default="yes",
        python=None,
    ),
    Dial(
        "private_map",
        "Private map",
        "Who is in which record, for you alone: the screens that compare before and after need it. It is never published.",
        "switch",
        default="yes",
        python=None,
    ),
)
CHOICES = (*MAIN, *MORE)
NOT_NOISY = ("k", "private_map", "certificate")


def goal_of(choices: Mapping[str, str]) -> str:
    """Return the goal that was chosen, or the default."""
    return choices.get("goal") or "words"


def method_of(choices: Mapping[str, str]) -> str:
    """Return the method that will run."""
    from incrowd.methods.registry import GOALS

    if choices.get("method"):
        return choices["method"]
    goal = goal_of(choices)
    return GOALS[goal].method if goal in GOALS else "mosaic"  # type: ignore[index]


def takes_whole_queries(choices: Mapping[str, str]) -> bool:
    """Tell whether items are whole queries because the goal is about them: a method replaces it, and so do items."""
    return goal_of(choices) == "queries" and not choices.get("method") and not choices.get("items")


def is_noisy(choices: Mapping[str, str]) -> bool:
    """Tell whether the release will be a list with noise, which has no k, no private map and no certificate."""
    from incrowd.methods.registry import METHODS

    method = METHODS.get(method_of(choices))
    return method is not None and method.is_noisy


def said(dials: tuple[Dial, ...], values: Mapping[str, str]) -> list[tuple[Dial, str]]:
    """Return the dials that say something, with what they say; a method's own only where it runs."""
    method, idle = method_of(values), NOT_NOISY if is_noisy(values) else ()
    pairs = [(dial, values.get(dial.name, dial.default).strip()) for dial in dials if dial.name not in idle]
    return [(dial, text) for dial, text in pairs if text and dial.method in (None, method)]
