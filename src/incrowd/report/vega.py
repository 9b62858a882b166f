"""What all charts share: the library that draws them, and its colours on light and dark backgrounds.

Charts are Vega-Lite specifications: plain dictionaries. The page carries the library, so it needs no network.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["CONFIGS", "Spec", "library"]

Spec = dict[str, Any]

# Okabe and Ito's colours, which colour-blind people can distinguish, adjusted to the background.
PALETTES = {
    "light": ["#0072b2", "#d55e00", "#009e73", "#b8578c", "#a87400", "#3a9bd6", "#6b7280", "#1d2430"],
    "dark": ["#56b4e9", "#f08a3c", "#2cc79b", "#e39bc2", "#f0c742", "#7f9cf5", "#a3acb8", "#e6eaf0"],
}
INKS = {"light": ("#1d2430", "#5c6675", "#e3e7ec"), "dark": ("#e6eaf0", "#9aa5b4", "#2c3440")}


def _config(theme: str) -> Spec:
    ink, soft, line = INKS[theme]
    words = {"labelColor": soft, "titleColor": ink, "titleFontWeight": "normal"}
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**words, "gridColor": line, "domainColor": line, "tickColor": line},
        "legend": {**words, "labelColor": ink, "titleColor": soft, "labelLimit": 260, "symbolOpacity": 1},
        "range": {"category": PALETTES[theme]},
        "bar": {"color": PALETTES[theme][0]},
        "text": {"color": ink},
    }


CONFIGS = {theme: _config(theme) for theme in PALETTES}


@cache
def library() -> str:
    """Return the chart library, which ``scripts/make_vega_bundle.py`` makes; it is safe inside a script element."""
    return (files("incrowd.data") / "vega.min.js").read_text(encoding="utf-8")
