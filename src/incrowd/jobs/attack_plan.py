"""What the attacks of a risk job work on: how a release was made, what it publishes, and how attacks are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from incrowd.attacks.attacked import Setting
from incrowd.attacks.seen import Seen, seen_of_classes, seen_of_tiles
from incrowd.core.claims import Distinct
from incrowd.core.classes import Classes
from incrowd.core.tiles import Tiles
from incrowd.core.types import Bools
from incrowd.jobs.anonymize import make_release
from incrowd.jobs.spec import Job
from incrowd.jobs.subject import Subject
from incrowd.methods.registry import Method, method_named
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached

__all__ = ["Made", "Plan", "Published", "made_by", "made_of", "published_by", "seen_by"]

Published = Classes | Tiles


class Made(NamedTuple):
    """How a release was made, so that it can be made again from some of the people."""

    method: Method
    own: Mapping[str, Any]
    k: int | None
    seed: int
    distinct: Distinct | None = None

    def again(self, attached: Attached) -> Published:
        """Return what the method publishes of other data."""
        made = make_release(attached, self.method, self.own, k=self.k, seed=self.seed, distinct=self.distinct)
        return published_by(made)


class Plan(NamedTuple):
    """How attacks are run.

    Parameters
    ----------
    setting
        On how many people, and so on.
    sensitive
        Which leaves are sensitive.
    population
        Of how many people those of the data are a sample.
    second
        What another release of the same people publishes.
    planted
        Whether the method is run again with planted accounts.
    """

    setting: Setting
    sensitive: Bools | None = None
    population: int | None = None
    second: Published | None = None
    planted: bool = False


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


def made_by(job: Job) -> Made:
    """Return how a job makes a release."""
    return Made(job.method, job.setting.parameters, job.k, job.seed, job.options.distinct)


def seen_by(subject: Subject, published: Published) -> Seen:
    """Return what an attacker sees of people."""
    person = subject.attached.transactions.person
    if isinstance(published, Tiles):
        return seen_of_tiles(published, person, subject.people)
    return seen_of_classes(published, subject.attached.taxonomy, person, subject.people)
