"""The kernels of the risk lab, loaded or compiled before attacks begin."""

from __future__ import annotations

from functools import cache

from incrowd.attacks import linkability
from incrowd.attacks.attacked import Attacked, Setting, attacked_raw
from incrowd.attacks.people import Lists
from incrowd.attacks.singling_out import unicity
from incrowd.core.transactions import Transactions
from incrowd.jobs.attack_plan import Plan
from incrowd.jobs.attacks import attack_raw
from incrowd.jobs.subject import subject_without_times
from incrowd.kernels.jit import is_compiled, note_compiled
from incrowd.taxonomy import Attached, balanced

__all__ = ["attacks_are_compiled", "load_attacks"]

NAME = "attacks"
TINY = [["1", "2", "3", "4", "5", "6", "7"], ["1", "2", "3"]] * 3


def attacks_are_compiled() -> bool:
    """Return whether an earlier run has compiled what attacks need."""
    return is_compiled(NAME)


@cache
def load_attacks() -> None:
    """Attack a tiny input, as raw data and as a release of it, once in a process."""
    rows = Transactions.from_rows(TINY)
    subject = subject_without_times(Attached(rows, balanced(rows, 2), 0, 0))
    plan = Plan(Setting(2, 4))
    attack_raw(subject, plan)
    raw = attacked_raw(subject.people, subject.attached.taxonomy)
    profiles = Lists(subject.people.start, subject.people.leaf)
    linkability.found_again(raw, profiles, plan.setting)
    unicity(Attacked(raw.people, raw.tree, raw.seen), plan.setting)
    note_compiled(NAME)
