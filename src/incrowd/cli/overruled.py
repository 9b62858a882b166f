"""What a file of options says and the command line says in another way: a profile stays usable with another k, other kinds, another goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from incrowd.cli.config import layer_of, layer_of_setting

__all__ = ["fitted_settings", "without_items_of_other_goals"]

THRESHOLDS = "thresholds"


def without_items_of_other_goals(options: dict[str, Any], context: click.Context) -> dict[str, Any]:
    """Drop a file's items where a goal that wins over the file is about other items."""
    if layer_of("goal", context) <= layer_of("items", context):
        return options
    from incrowd.methods.registry import GOALS

    goal = GOALS.get(options["goal"])
    return options if goal is None or goal.items is None else {**options, "items": None}


def fitted_settings(
    settings: Mapping[str, str], options: Mapping[str, Any], k: str | None, context: click.Context
) -> dict[str, str]:
    """Return the method's parameters without thresholds of a file that kinds or k, which win over the file, leave nothing to say.

    A threshold for a kind that no tile has is about nothing, and one below k is met by every tile. What is typed is not touched:
    there both are mistakes.
    """
    if not settings.get(THRESHOLDS):
        return dict(settings)
    from incrowd.core.kinds import MAIN, parse_kinds
    from incrowd.core.thresholds import parse_thresholds, spelled

    of_thresholds = layer_of_setting(THRESHOLDS, settings[THRESHOLDS], context)
    if of_thresholds >= max(layer_of("kinds", context), layer_of("k", context)):
        return dict(settings)
    found = parse_thresholds(settings[THRESHOLDS])
    if layer_of("kinds", context) > of_thresholds:
        there = {MAIN, *parse_kinds(options["kinds"])}
        found = {kinds: people for kinds, people in found.items() if there.issuperset(kinds)}
    if layer_of("k", context) > of_thresholds and k is not None and k.isascii() and k.isdigit():
        found = {kinds: people for kinds, people in found.items() if people >= int(k)}
    return {**settings, THRESHOLDS: spelled(found)}
