"""The attacks of the risk lab in a row, on raw data and on what is published of it, with a control group.

The control group of raw data is everybody, each without their own row. That of a release are people who are not in it: the same method is run once more, with the same
parameters, on most of the people, and the others are attacked with what that publishes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incrowd.attacks import inference, linkability, singling_out
from incrowd.attacks.attacked import Attacked, Outsiders, Setting, attacked_raw
from incrowd.attacks.people import People
from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.result import Found, Side
from incrowd.attacks.seen import Seen
from incrowd.core.claims import check_k
from incrowd.core.types import Bools
from incrowd.errors import IncrowdError
from incrowd.jobs.attack_plan import Made, Plan, Published, made_of, published_by, seen_by
from incrowd.jobs.method_attacks import MethodAttacks
from incrowd.jobs.subject import Subject, subject_without_times
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached

__all__ = [
    "NO_CONTROL",
    "attack_published",
    "attack_raw",
    "outsiders",
    "parted",
    "risk_of",
    "seen_without_others",
]

FEW = 300
LARGEST_CONTROL = 100_000
"""The most people who are taken for the control's release and the control group: more would say little more."""
OUTSIDE, FEW_OUTSIDE = 0.1, 250
"""The share of people who are left out of the control's release: few, since a release of fewer people says less; of few people, more."""
CONTROL_CODE = 9
NO_CONTROL = "no release could be made without the control group"


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
        See :class:`incrowd.attacks.attacked.Setting`.
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
    attacked = Attacked(subject.people, subject.attached.taxonomy, seen_by(subject, published))
    control, skipped = None, {}
    if made is not None:
        try:
            control = outsiders(subject, made, plan.setting)
        except IncrowdError as error:
            skipped["control"] = f"{NO_CONTROL}: {error}"
    found, more, highest = _everywhere(attacked, control, subject, plan)
    if subject.halves is not None:
        found["found_again"] = linkability.found_again(attacked, subject.halves[1], plan.setting)
    if made is not None:
        of_method, without = MethodAttacks(subject, published, attacked.seen, made, plan).run()
        found |= of_method
        skipped |= without
    return Side(found, {**more, **skipped}, highest)


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
    inside, outside = parted(subject.people.sizes > 0, setting)
    seen = seen_without_others(subject, made, inside)
    return Outsiders(Attacked(subject.people, subject.attached.taxonomy, seen), outside)


def seen_without_others(subject: Subject, made: Made, inside: Bools) -> Seen:
    """Return what would be seen if only some of the people were in the data."""
    data = subject.attached.transactions
    some = subject.attached._replace(transactions=data.only_rows(inside[data.person]))
    return seen_by(replace(subject, attached=some), made.again(some))


def parted(filled: Bools, setting: Setting) -> tuple[Bools, Bools]:
    """Return who is in the control's release, and who is left out of it, of the people who have anything."""
    drawn = setting.dice(CONTROL_CODE).permutation(np.flatnonzero(filled))[:LARGEST_CONTROL]
    few = min(max(round(OUTSIDE * len(drawn)), FEW_OUTSIDE), len(drawn) // 5)
    inside, outside = (np.zeros(len(filled), dtype=np.bool_) for _ in range(2))
    outside[drawn[:few]] = True
    inside[drawn[few:]] = True
    return inside, outside
