"""What 'incrowd risk' found, as screens show it: rows for tables, and curves."""

from __future__ import annotations

from typing import Any

from incrowd.report.vega import Spec

__all__ = ["attack_rows", "curve_rows", "curve_spec", "questions"]

WAYS = {
    "unicity": "any items known",
    "unicity_rarest": "rarest items known",
    "unicity_recent": "latest items known",
}
DASHES = ([1, 0], [8, 4], [2, 2])
SHOWN_KNOWN = ("3", "10")
HEIGHT = 260


def curve_rows(side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return who is singled out, by the number of known items: a row a number, a column a way in which they are known."""
    found = side.get("singling_out", {})
    ways = {name: title for name, title in WAYS.items() if isinstance(found.get(name), dict)}
    numbers = sorted({int(known) for name in ways for known in found[name]})
    return [
        {
            "known": number,
            "shares": {title: found[name].get(str(number)) for name, title in ways.items()},
            "tries": max(found[f"{name}_tries"].get(str(number), 0) for name in ways),
        }
        for number in numbers
    ]


def curve_spec(rows: list[dict[str, Any]]) -> Spec:
    """Return a line for each way in which items are known."""
    values = [
        {"known": row["known"], "way": way, "share": share}
        for row in rows
        for way, share in row["shares"].items()
        if share is not None
    ]
    titles = list(WAYS.values())
    key = {"title": None, "orient": "bottom", "columns": 1, "symbolType": "stroke", "symbolSize": 400}
    colour = {"field": "way", "type": "nominal", "scale": {"domain": titles}, "legend": key}
    return {
        "data": {"values": values},
        "width": "container",
        "height": HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2.5, "point": {"filled": True, "size": 45}},
        "encoding": {
            "x": {
                "field": "known",
                "type": "quantitative",
                "title": "known items",
                "scale": {"domain": [1, 10], "nice": False},
                "axis": {"values": list(range(1, 11)), "format": "d", "grid": False},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "people singled out",
                "scale": {"domain": [0, 1]},
                "axis": {"format": "~%", "tickCount": 5},
            },
            "color": colour,
            "strokeDash": {**colour, "scale": {"domain": titles, "range": list(DASHES)}},
            "tooltip": [
                {"field": "known", "title": "known items"},
                {"field": "way", "title": "which"},
                {"field": "share", "title": "singled out", "format": ".1%"},
            ],
        },
    }


def questions(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the three questions of the authorities, each with its risk and light before and after."""
    from incrowd.attacks.result import GROUPS, QUESTIONS

    sides = [found[name] for name in ("before", "after") if name in found]
    return [
        {
            "question": GROUPS[group],
            "answers": [
                (side.get(group, {}).get("risk"), side.get("lights", {}).get(group)) for side in sides
            ],
        }
        for group in QUESTIONS
    ]


def attack_rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every attack in plain words: what it found before and after, in the control group, and the risk that is left."""
    from incrowd.attacks.result import ATTACKS

    before, after = found.get("before", {}), found.get("after", {})
    rows = []
    for attack in ATTACKS:
        old, new = before.get(attack.group, {}), after.get(attack.group, {})
        value = new.get(attack.name, old.get(attack.name))
        if value is None:
            continue
        numbers = [one for one in SHOWN_KNOWN if one in value] if isinstance(value, dict) else [None]
        rows += [
            {
                "group": attack.group,
                "title": attack.title,
                "assumes": attack.assumes,
                "known": number,
                "before": _figure(old, attack.name, number),
                "after": _figure(new, attack.name, number),
                "control": _figure(new, f"{attack.name}_control", number),
                "risk": _figure(new, f"{attack.name}_risk", number),
                "tries": _figure(new, f"{attack.name}_tries", number),
            }
            for number in numbers
        ]
    return rows


def _figure(side: dict[str, Any], name: str, known: str | None) -> Any:
    """Return a figure; None where it was not measured."""
    value = side.get(name)
    return value.get(known) if isinstance(value, dict) and known is not None else value
