"""A release attacked before it is given its name, and refused where the risk is above what its owner allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from incrowd.attacks.attacked import Setting
from incrowd.attacks.result import QUESTIONS, Side
from incrowd.auditing.result import Audit
from incrowd.errors import option
from incrowd.jobs.attack_plan import Plan, made_of, published_by
from incrowd.jobs.attacks import attack_published
from incrowd.jobs.subject import subject_without_times
from incrowd.jobs.written import Owned, published_in
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached

__all__ = ["attack_draft", "refuse_above"]

MOST = 1_000
DEFAULT_K = 5


def attack_draft(release: Release | TileRelease, draft: Path) -> Side:
    """Run the attacks on the files of a release that is not published yet. The method is run once more, for the control group."""
    attached = Attached(release.transactions, release.taxonomy, 0, 0)
    published = published_by(release) if release.is_list else published_in(draft, attached, _owned(release))
    plan = Plan(Setting(release.claim.k or DEFAULT_K, MOST))
    return attack_published(subject_without_times(attached), published, made_of(release), plan)


def _owned(release: Release | TileRelease) -> Owned:
    """Return who got which row, as the private map would say."""
    parts = list(release.owners())
    owner = pa.chunked_array([some for some, _ in parts], pa.string()).combine_chunks()
    row = np.concatenate([np.array(some, dtype=np.int64) for _, some in parts] or [np.zeros(0, np.int64)])
    return Owned(owner, row, release.named.renamed)


def refuse_above(side: Side, most: Mapping[str, float], result: Audit) -> None:
    """Let the audit fail where the risk of a question is above what is allowed."""
    for group in QUESTIONS:
        risk, limit = side.risk(group), most.get(group)
        if limit is None:
            continue
        said = option("max_risk", f"{group}={limit:g}")
        if risk is None:
            result.add_problem(f"the risk of {group} could not be measured, which {said} asks for: drop it")
        else:
            problem = f"the risk of {group} is {risk:.4f}, above {said}: raise k, or publish less"
            result.require(wrong=risk > limit, problem=problem)
