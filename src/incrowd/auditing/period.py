"""Whether enough people were active on the first and the last day that a release names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.auditing.result import Audit
from incrowd.core.activity import Activity

__all__ = ["PERIOD", "check_period"]

PERIOD = ("first_day", "last_day")


def check_period(parameters: Mapping[str, Any], activity: Activity | None, k: int, result: Audit) -> None:
    """Compare the days that a manifest names with the first and the last on which k people were active."""
    said = {name: parameters[name] for name in PERIOD if name in parameters}
    if not said:
        return
    with result.checking("the days it names are the first and the last on which as many people were active"):
        result.require(
            wrong=said != ({} if activity is None else activity.period(k)),
            problem="the manifest names other days than the originals have",
        )
