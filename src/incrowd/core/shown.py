"""How objects show themselves in a notebook: small pieces of HTML in which everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_lines", "html_table"]


def html_lines(lines: Iterable[object]) -> str:
    """Return paragraphs."""
    return "".join(f"<p>{escape(str(line))}</p>" for line in lines)


def html_table(title: object, rows: Iterable[Sequence[object]], header: Sequence[object] = ()) -> str:
    """Return a title and a table; without a header, the first cell of a row is its name."""
    named = not header
    top = f"<thead><tr>{''.join(_cell(cell, 'th') for cell in header)}</tr></thead>" if header else ""
    body = "".join(
        f"<tr>{''.join(_cell(cell, 'th' if named and not place else 'td') for place, cell in enumerate(row))}</tr>"
        for row in rows
    )
    return f"{html_lines([title])}<table>{top}<tbody>{body}</tbody></table>"


def _cell(value: object, tag: str) -> str:
    shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return f"<{tag}>{escape(shown)}</{tag}>"
