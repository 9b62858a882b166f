"""Texts of foreign files on a terminal: what would steer it is shown instead of obeyed."""

from __future__ import annotations

import unicodedata

__all__ = ["visible"]


def visible(text: str) -> str:
    """Return a text with control and invisible characters spelt out: an escape code shows, and colours nothing."""
    if text.isprintable():
        return text
    return "".join(one if unicodedata.category(one)[0] != "C" else _spelled(ord(one)) for one in text)


def _spelled(code: int) -> str:
    return f"<U+{code:04X}>"
