"""The attacks that depend on how a release was made: what the method gives away, two releases together, planted accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from incrowd.attacks.fitting import reason_against
from incrowd.attacks.minimality import few_leaves, proven_items
from incrowd.attacks.planted import planted_in_records, planted_in_tiles
from incrowd.attacks.result import Found
from incrowd.attacks.seen import Seen
from incrowd.attacks.two_releases import (
    labels_of,
    record_of_person,
    two_releases_of_records,
    two_releases_of_tiles,
)
from incrowd.core.classes import Classes
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, option
from incrowd.jobs.attack_plan import Made, Plan, Published, seen_by
from incrowd.jobs.subject import Subject

__all__ = ["MethodAttacks"]


@dataclass(frozen=True, eq=False)
class MethodAttacks:
    """Attacks on what a method made of people.

    Parameters
    ----------
    subject, published, seen
        The people, what is published of them, and what an attacker sees of that.
    made, plan
        How it was made, and how attacks are run.
    """

    subject: Subject
    published: Published
    seen: Seen
    made: Made
    plan: Plan

    def run(self) -> tuple[dict[str, Found], dict[str, str]]:
        """Return what the attacks found, and why others have no meaning for the method."""
        attacks: dict[str, Callable[[], Mapping[str, Found]]] = {
            "proven_items": self._proven_items,
            "few_leaves": self._few_leaves,
        }
        if self.plan.second is not None:
            attacks["two_releases"] = self._two_releases
        if self.plan.planted:
            attacks["alone"] = self._planted
        found: dict[str, Found] = {}
        skipped: dict[str, str] = {}
        method = self.made.method
        for name, attack in attacks.items():
            reason = reason_against(
                name, method.name, self.made.own, self._form, needs_events=method.needs_events
            )
            if reason is None:
                found |= attack()
            else:
                skipped[name] = reason
        return found, skipped

    @property
    def _form(self) -> Literal["records", "tiles", "list"]:
        if isinstance(self.published, Tiles):
            return "tiles"
        return "records" if self.published.copies is None else "list"

    def _proven_items(self) -> Mapping[str, Found]:
        data, tree = self.subject.attached.transactions, self.subject.attached.taxonomy
        assert isinstance(self.published, Classes)  # noqa: S101 - the attack has a meaning for records alone
        sets = int(data.counts.max(initial=1)) == 1
        return {"proven_items": proven_items(self.published, tree, data.person, sets=sets)}

    def _few_leaves(self) -> Mapping[str, Found]:
        return {"few_leaves": few_leaves(self.seen, self.subject.attached.taxonomy, self.plan.setting.k)}

    def _two_releases(self) -> Mapping[str, Found]:
        """Put two releases of the same people together."""
        tree, other, k = self.subject.attached.taxonomy, self.plan.second, self.plan.setting.k
        assert other is not None  # noqa: S101 - the caller has looked
        again = seen_by(self.subject, other)
        if isinstance(self.published, Tiles) and isinstance(other, Tiles):
            first, second = (
                labels_of(seen, tiles.people, tree)
                for seen, tiles in ((self.seen, self.published), (again, other))
            )
            return {"two_releases": two_releases_of_tiles(first, second, k)}
        if isinstance(self.published, Tiles) or isinstance(other, Tiles):
            raise BadInputError(
                f"{option('second_release')} must be of the same kind: tiles and tiles, or records and records"
            )
        return {
            "two_releases": two_releases_of_records(record_of_person(self.seen), record_of_person(again), k)
        }

    def _planted(self) -> Mapping[str, Found]:
        """Run the method again with planted accounts."""
        attached = self.subject.attached

        def run(rows: Transactions) -> Published:
            return self.made.again(attached._replace(transactions=rows))

        plant = planted_in_tiles if isinstance(self.published, Tiles) else planted_in_records
        return plant(attached.transactions, attached.taxonomy, run, self.plan.setting)._asdict()
