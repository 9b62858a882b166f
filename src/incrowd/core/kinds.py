"""Items of several kinds in one unit: an item that is no word or query carries its kind before its text."""

from __future__ import annotations

__all__ = ["SEPARATOR", "kind_of", "text_of", "typed"]

SEPARATOR = "\x1f"


def typed(kind: str, text: str) -> str:
    """Return the label of an item of a kind."""
    return f"{kind}{SEPARATOR}{text}"


def kind_of(label: str) -> str | None:
    """Return the kind of a label; None for the main items."""
    kind, sign, _ = label.partition(SEPARATOR)
    return kind if sign else None


def text_of(label: str) -> str:
    """Return the text of a label, without its kind."""
    return label.rpartition(SEPARATOR)[2]
