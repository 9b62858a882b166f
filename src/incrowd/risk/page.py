"""Placeholder until the page is merged."""

__all__ = ["risk_page"]


def risk_page(found: object) -> str:
    """Return nothing yet."""
    return str(found)
