"""The budget of a log: a private file in which every differentially private release of the same people is recorded before it is made.

The owner makes it with the eps and delta that all releases together may have. It is a file of lines that is only ever appended to, under a lock. Each line
holds a hash of itself and of the line before, and a mark beside the file says which was the last: a line that was changed or removed is noticed, and so is an
older copy. What cannot be read, is missing or does not fit refuses the release. A release that was recorded stays recorded, whatever became of it.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from incrowd.core.accounting import Cost, eps_of, total
from incrowd.core.atomic import atomic_write, check_free, private_file
from incrowd.core.claims import MOST_DELTA
from incrowd.core.ledger_file import append_line, lock, opened, whole_content
from incrowd.errors import BadInputError

__all__ = ["Budget", "BudgetState", "Spent", "create_budget"]

WHAT = "budget"
LONGEST_WAIT = 60.0
LARGEST_EPS = 100.0
MARK = ".mark"
Positive = Annotated[float, msgspec.Meta(gt=0)]


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line: what all releases together may cost."""

    format: Literal["incrowd-budget/1"]
    eps: Positive
    delta: Positive
    id: str


class Spent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release: its directory's name, its method, what it promises alone, and what it costs."""

    name: str
    method: str
    eps: Positive
    delta: Positive
    rho: Positive
    missed: Positive


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any other line: a release, and the hash of this line and all before it."""

    spent: Spent
    chain: str


class _Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the mark says: how many releases were recorded, and the hash of the last line."""

    releases: Annotated[int, msgspec.Meta(ge=0)]
    chain: str


class BudgetState(NamedTuple):
    """What a budget allows in all, and what was spent."""

    eps: float
    delta: float
    releases: list[Spent]

    @property
    def cost(self) -> Cost:
        """What all releases cost together."""
        return total(Cost(one.rho, one.missed) for one in self.releases)

    @property
    def eps_spent(self) -> float:
        """The eps of all releases together, for the delta of the budget."""
        return eps_of(self.cost, self.delta)

    @property
    def in_words(self) -> str:
        """The state as a sentence."""
        number = len(self.releases)
        said = "1 release" if number == 1 else f"{number:,} releases"
        return f"{said}, together eps = {self.eps_spent:.3g} of {self.eps:g} (delta = {self.delta:g})"

    def as_dict(self) -> dict[str, Any]:
        """Return the state for JSON."""
        return {
            "eps": self.eps,
            "delta": self.delta,
            "eps_spent": self.eps_spent,
            "rho_spent": self.cost.rho,
            "releases": [msgspec.to_builtins(one) for one in self.releases],
        }

    def eps_with(self, spent: Spent) -> float:
        """Return the eps of all releases and one more."""
        return self._replace(releases=[*self.releases, spent]).eps_spent


def create_budget(path: Path, *, eps: float, delta: float) -> None:
    """Make a budget with what all releases together may have."""
    if not 0 < eps <= LARGEST_EPS:
        raise BadInputError(f"eps must be greater than 0 and at most {LARGEST_EPS:g} (got {eps:g})")
    if not 0 < delta < MOST_DELTA:
        raise BadInputError(f"delta must be greater than 0 and less than {MOST_DELTA} (got {delta:g})")
    for place in (path, _mark_of(path)):
        check_free(place, force=False, ours=lambda _: False, what=WHAT)
    head = msgspec.json.encode(_Head("incrowd-budget/1", float(eps), float(delta), os.urandom(16).hex()))
    _write_mark(path, _Mark(0, _hash("", head)))
    with opened(path, WHAT) as handle:
        append_line(handle, head, f"{WHAT} {path}")


class Budget:
    """A budget that was made before. It is opened for a moment at a time.

    Parameters
    ----------
    path
        The file; mode 0600. The mark is beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def state(self) -> BudgetState:
        """Return what it allows and what was spent."""
        with self._locked() as handle:
            return self._read(handle)[0]

    def check(self, spent: Spent) -> None:
        """Refuse a release for which nothing is left, and record nothing."""
        self._refuse_above(self.state(), spent)

    def charge(self, spent: Spent) -> BudgetState:
        """Record a release that is about to be made; refuse it if the total would be exceeded."""
        with self._locked() as handle:
            state, mark = self._read(handle)
            self._refuse_above(state, spent)
            chain = _hash(mark.chain, msgspec.json.encode(spent))
            append_line(handle, msgspec.json.encode(_Line(spent, chain)), f"{WHAT} {self.path}")
            _write_mark(self.path, _Mark(mark.releases + 1, chain))
            return state._replace(releases=[*state.releases, spent])

    def _refuse_above(self, state: BudgetState, spent: Spent) -> None:
        eps = state.eps_with(spent)
        if eps > state.eps:
            together = "no eps at all" if math.isinf(eps) else f"eps = {eps:.3g}"
            raise BadInputError(
                f"the {WHAT} {self.path} allows eps = {state.eps:g} with delta = {state.delta:g} in all, and with this release it would be {together}: "
                f"nothing was made. Use a smaller eps or delta for it, or publish nothing more of these people"
            )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        if not os.path.lexists(self.path):
            raise BadInputError(
                f"{WHAT} {self.path} does not exist: put it back, or make a new one with 'incrowd budget' if nothing was released of these people"
            )
        with opened(self.path, WHAT, create=False) as handle:
            lock(handle, f"{WHAT} {self.path}", wait=LONGEST_WAIT)
            yield handle

    def _read(self, handle: int) -> tuple[BudgetState, _Mark]:
        """Read all lines and hold them against the mark; a last line that was not completed is removed, for nothing was made after it."""
        content = whole_content(handle)
        whole = content.rfind(b"\n") + 1
        try:
            state, marks = _parsed(content[:whole].splitlines())
            mark = msgspec.json.decode(_mark_of(self.path).read_bytes(), type=_Mark)
        except (OSError, ValueError, IndexError, RecursionError):
            raise self._damaged() from None
        # A run that was killed after its line leaves a mark of the line before, which the next brings up to date: it may be killed there, too.
        if mark not in marks[-2:]:
            raise self._damaged()
        if mark != marks[-1]:
            _write_mark(self.path, marks[-1])
        if whole < len(content):
            os.ftruncate(handle, whole)
        return state, marks[-1]

    def _damaged(self) -> BadInputError:
        return BadInputError(
            f"{WHAT} {self.path} or the mark beside it is damaged, was changed, or is an older copy: nothing was made. Put the latest of both back"
        )


def _parsed(lines: list[bytes]) -> tuple[BudgetState, list[_Mark]]:
    """Return what lines say, and the mark after each of them."""
    head = msgspec.json.decode(lines[0], type=_Head)
    marks, releases = [_Mark(0, _hash("", lines[0]))], []
    for line in lines[1:]:
        read = msgspec.json.decode(line, type=_Line)
        if read.chain != _hash(marks[-1].chain, msgspec.json.encode(read.spent)):
            raise ValueError(read.chain)
        releases.append(read.spent)
        marks.append(_Mark(len(releases), read.chain))
    return BudgetState(head.eps, head.delta, releases), marks


def _hash(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + b"\n" + line).hexdigest()


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + MARK)


def _write_mark(path: Path, mark: _Mark) -> None:
    with atomic_write(_mark_of(path), replaces=lambda _: True) as draft:
        private_file(draft).write_bytes(msgspec.json.encode(mark))
