"""The attacks of the risk lab in a row, on raw data and on what is published of it, with a control group.

The control group of raw data is everybody, each without their own row. That of a release are people who are not in it: the same method is run once more, with the same
parameters, on most of the people, and the others are attacked with what that publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from incrowd.core.claims import Distinct, check_k
from incrowd.core.classes import Classes
from incrowd.core.tiles import Tiles
from incrowd.core.types import Bools
from incrowd.errors import IncrowdError
from incrowd.jobs.anonymize import make_release
from incrowd.jobs.subject import Subject, subject_without_times
from incrowd.methods.registry import Method, method_named
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.risk import inference, linkability, singling_out
from incrowd.risk.attacked import Attacked, Outsiders, Setting, attacked_raw
from incrowd.risk.people import People
from incrowd.risk.rates import Figure, Rate
from incrowd.risk.result import Found, Side
from incrowd.risk.seen import Seen, seen_of_classes, seen_of_tiles
from incrowd.taxonomy import Attached

__all__ = [
    "Made",
    "Plan",
    "Published",
    "attack_published",
    "attack_raw",
    "made_of",
    "outsiders",
    "published_by",
    "risk_of",
]

FEW = 300
LARGEST_CONTROL = 100_000
"""The most people who are taken for the control's release and the control group: more would say little more."""
OUTSIDE, FEW_OUTSIDE = 0.1, 250
"""The share of people who are left out of the control's release: few, since a release of fewer people says less; of few people, more."""
CONTROL_CODE = 9
Published = Classes | Tiles


class Made(NamedTuple):
    """How a release was made, so that it can be made again from some of the people."""

    method: Method
    own: Mapping[str, Any]
    k: int | None
    seed: int
    distinct: Distinct | None = None


class Plan(NamedTuple):
    """How attacks are run, which leaves are sensitive, and of how many people those of the data are a sample."""

    setting: Setting
    sensitive: Bools | None = None
    population: int | None = None


def published_by(release: Release | TileRelease) -> Published:
    """Return what a release publishes, and of whom."""
    return release.tiles if isinstance(release, TileRelease) else release.classes


def made_of(release: Release | TileRelease) -> Made:
    """Return how a release was made."""
    method = method_named(release.method)
    own = {name: value for name, value in release.parameters.items() if name in method.parameters}
    distinct: Distinct | None = "records" if release.claim.distinct == "records" else None
    seed = int(release.parameters["seed"])
    return Made(method, method.read_parameters(own), release.claim.k, seed, distinct)


def risk_of(
    attached: Attached, release: Release | TileRelease, *, k: int, most: int = FEW, seed: int = 0
) -> Side:
    """Run the attacks on a release that was just made; what is sensitive, and when people had what, is not asked.

    Parameters
    ----------
    attached
        What it was made from.
    release
        The release.
    k, most, seed
        See :class:`incrowd.risk.attacked.Setting`.
    """
    subject, plan = subject_without_times(attached), Plan(Setting(check_k(k), most, seed))
    return attack_published(subject, published_by(release), made_of(release), plan)


def attack_raw(subject: Subject, plan: Plan) -> Side:
    """Attack raw data."""
    raw = attacked_raw(subject.people, subject.attached.taxonomy)
    found, skipped, highest = _everywhere(raw, None, subject, plan)
    if subject.halves is not None:
        earlier, later = subject.halves
        then = attacked_raw(People(*earlier, subject.people.leaves), raw.tree)
        found["found_again"] = linkability.found_again(then, later, plan.setting)
    return Side(found, skipped, highest)


def attack_published(subject: Subject, published: Published, made: Made | None, plan: Plan) -> Side:
    """Attack what is published; without knowing how it was made there is no control group."""
    attacked = Attacked(subject.people, subject.attached.taxonomy, _seen(subject, published))
    control, skipped = None, {}
    if made is not None:
        try:
            control = outsiders(subject, made, plan.setting)
        except IncrowdError as error:
            skipped["control"] = f"no release could be made without the control group: {error}"
    found, more, highest = _everywhere(attacked, control, subject, plan)
    if subject.halves is not None:
        found["found_again"] = linkability.found_again(attacked, subject.halves[1], plan.setting)
    return Side(found, {**more, **skipped}, highest)


def _seen(subject: Subject, published: Published) -> Seen:
    """Return what an attacker sees of people."""
    person = subject.attached.transactions.person
    if isinstance(published, Tiles):
        return seen_of_tiles(published, person, subject.people)
    return seen_of_classes(published, subject.attached.taxonomy, person, subject.people)


def _everywhere(
    attacked: Attacked, control: Outsiders | None, subject: Subject, plan: Plan
) -> tuple[dict[str, Found], dict[str, str], tuple[float, float]]:
    """Run the attacks that make sense on raw data and on releases alike."""
    setting, skipped = plan.setting, dict(subject.skipped)
    found: dict[str, Found] = {}
    for how in singling_out.WAYS:
        name = "unicity" if how == "random" else f"unicity_{how}"
        if name not in skipped:
            singled = singling_out.unicity(attacked, setting, how, control)
            found[name] = singled.unicity
            if how == "random":
                found["reidentified"] = singled.reidentified
    risks = singling_out.class_risks(attacked, setting.k, plan.population)
    found["at_risk"] = Figure(Rate(risks.prosecutor_at_risk * risks.people, risks.people))
    found["marketer"] = Figure(Rate(risks.marketer * risks.people, risks.people))
    found["halves"] = linkability.halves(attacked, setting, control)
    found["one_more_item"] = inference.one_more_item(attacked, setting, control)
    if plan.sensitive is None:
        skipped["sensitive_item"] = "nothing was said to be sensitive"
    else:
        found["sensitive_item"] = inference.one_more_item(attacked, setting, control, plan.sensitive)
    return found, skipped, (risks.prosecutor_highest, risks.journalist_highest)


def outsiders(subject: Subject, made: Made, setting: Setting) -> Outsiders:
    """Make a release from most of the people, in the way of another, and return it with the others."""
    data, tree = subject.attached.transactions, subject.attached.taxonomy
    inside, outside = _parted(subject.people, setting.dice(CONTROL_CODE))
    most = subject.attached._replace(transactions=data.only_rows(inside[data.person]))
    release = make_release(most, made.method, made.own, k=made.k, seed=made.seed, distinct=made.distinct)
    seen = _seen(replace(subject, attached=most), published_by(release))
    return Outsiders(Attacked(subject.people, tree, seen), outside)


def _parted(people: People, dice: np.random.Generator) -> tuple[Bools, Bools]:
    """Return who is in the control's release, and who is left out of it."""
    drawn = dice.permutation(np.flatnonzero(people.sizes))[:LARGEST_CONTROL]
    few = min(max(round(OUTSIDE * len(drawn)), FEW_OUTSIDE), len(drawn) // 5)
    inside, outside = (np.zeros(len(people), dtype=np.bool_) for _ in range(2))
    outside[drawn[:few]] = True
    inside[drawn[few:]] = True
    return inside, outside
