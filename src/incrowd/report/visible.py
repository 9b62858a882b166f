"""Makes texts of untrusted files safe to print: control characters are shown, not sent to the terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["visible"]


def visible(text: str) -> str:
    """Return a text with control and invisible characters escaped, so that they cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(one if unicodedata.category(one)[0] != "C" else _escaped(ord(one)) for one in text)


def _escaped(code: int) -> str:
    return f"<U+{code:04X}>"
