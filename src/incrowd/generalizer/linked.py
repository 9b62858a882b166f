"""Linked queries: a person's past disclosures to a provider are evaluated together with the new query.

Each query that was sent discloses for some attributes a *node* of the ladder that the person is under. A provider that
links the queries counts only the people who agree with all of them. So a query may be sent only if the protected
values are hard to guess from the query alone and from the query together with past disclosures.

Disclosures of one attribute may contradict each other: first Essex, now Dukes. Then only one of them is true of the
person, and the provider may believe either, so every combination of one node for each attribute must be
private. That also covers a provider who leaves open which one is true: guessing entropy is concave (it is a
least expected rank, over all orders of guessing), so a mixture of combinations is at least as hard to guess
from as the easiest of them.

Every part, or all together
---------------------------
Guessing entropy may fall when *less* is known: all disclosures together may be private and a part of them not. A
provider uses a part if it looks at one session or the last few queries, or disbelieves something. So there are two
guarantees:

- With ``parts`` (the default), every part of what was ever disclosed is private: every combination that takes,
  for each attribute, none or one of its nodes, those of the new query included, and is not empty. Any subset of
  the queries that were sent is such a combination (or several, where it contradicts itself), and so is any
  part of one query. Since the new query is then part of the past, the guarantee holds again for the next one: what was
  sent once may be sent again, and so may the query for all rows, if it is private by itself.
- Without it, only the new query alone and the new query together with *all* past disclosures are private. A node
  under another one (Essex, Massachusetts) does not contradict it: the finer one implies the coarser one.

If the guarantee no longer holds for past disclosures, because the policy became stricter or the table changed, nothing
more is sent (without ``parts``: only what is private together with all past disclosures).

What it does not guarantee
--------------------------
- Providers that combine what they know: each has past disclosures of its own.
- A refusal that the provider notices, for example because the person stops. What was sent is private, but a refusal
  discloses that the next query was not, and among the people who would have been refused the protected value may be
  easier to guess.

``benchmarks/linked_subsets.py`` measures how often parts fall below the policy's minimum, what protecting them costs,
and what a noticed refusal discloses.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, IncrowdError
from incrowd.generalizer.counters import Counter
from incrowd.generalizer.lattice import MOST_CELLS, Lattice
from incrowd.generalizer.schema import Attribute, Node, Schema, text_of
from incrowd.generalizer.strategies import easiest

__all__ = [
    "MOST_COMBINATIONS",
    "PastDisclosures",
    "PastDisclosuresError",
    "TooManyDisclosuresError",
    "linked_lattices",
    "past_nodes",
    "stored",
]

MOST_COMBINATIONS = 64
"""The most combinations of contradicting disclosures that are tried."""

PastDisclosures = Mapping[str, tuple[Node, ...]]
"""The nodes of each attribute that were disclosed before."""

_IMPOSSIBLE = -1
_Beliefs = tuple[tuple[int, ...], ...]


class PastDisclosuresError(IncrowdError):
    """Past disclosures cannot be evaluated, or disclose too much: nothing may be sent."""


class TooManyDisclosuresError(PastDisclosuresError):
    """Past disclosures can be combined in too many ways: nothing may be sent."""


def stored(nodes: Mapping[str, Node], schema: Schema) -> dict[str, str]:
    """Return a query's nodes as the ledger stores them: ``"0/Essex"``, a rung and the text on it."""
    return {name: f"{rung}/{text_of(schema[name].value(code, rung))}" for name, (code, rung) in nodes.items()}


def past_nodes(disclosed: Mapping[str, Iterable[str]], schema: Schema) -> dict[str, tuple[Node, ...]]:
    """Parse the past disclosures that the ledger stores.

    Raises
    ------
    ToldError
        If the schema no longer has such an attribute, rung or value. Then what the provider knows cannot be
        evaluated, so nothing may be sent.
    """
    past = {}
    for name, texts in disclosed.items():
        if name not in schema.names:
            raise _unknown(name)
        # Sorted: the order in which combinations are tried must not depend on the order of a set.
        past[name] = tuple(sorted(_node(schema[name], text) for text in texts))
    return past


def linked_lattices(
    counter: Counter,
    fixed: Mapping[str, int],
    protected: Sequence[str],
    past: PastDisclosures,
    *,
    parts: bool = True,
) -> list[Lattice]:
    """Return the lattices in which a state of the query must be private to be sent, all of one shape.

    The first is of the query alone. The others are of the query for a provider that believes, in each state, what
    makes a protected attribute easiest to guess: one for each protected attribute and each way to choose between
    past disclosures that contradict each other or the query. In a state where this adds no condition (the query's
    value is not sent, or discloses nothing new), the counts of the first lattice are repeated.

    Parameters
    ----------
    counter
        What counts the rows.
    fixed
        The query: for each attribute, in the schema's order, its value's code. None of them is protected.
    protected
        The attributes to protect.
    past
        What was disclosed before, see `past_nodes`.
    parts
        Whether every part of what is disclosed must be private, or only the query and all together.
    """
    for name in protected:
        if name in past:
            raise PastDisclosuresError(
                f"attribute '{name}' is protected now but was disclosed to this provider before: "
                "stop protecting it, or wait until the disclosure expires"
            )
    alone = counter.lattice(fixed, protected)
    past = {name: nodes for name, nodes in past.items() if nodes}
    if not past and not (parts and fixed):
        return [alone]
    ways = _all_ways(counter.schema, fixed, past, parts=parts)
    if past:
        _check_size(counter.schema, alone, ways)
    lattices = [alone]
    for chosen in itertools.product(*ways.values()):
        lattices += _believed(counter, alone, dict(zip(ways, chosen, strict=True)))
    return lattices


class _Way(NamedTuple):
    """One path up the ladder from a value of an attribute, and what a provider may believe about it.

    Parameters
    ----------
    code
        The value at its lowest rung.
    beliefs
        For each belief, and for each rung on which the query may send the attribute (only the top if it does not
        fix it), the rung on which the provider then knows the value; `_IMPOSSIBLE` where there is no such belief.
    size
        The number of the attribute's rungs, "don't care" included.
    node
        The node that the provider knows in any case; None if it depends on the belief or on what is sent.
    """

    code: int
    beliefs: _Beliefs
    size: int
    node: Node | None = None


def _all_ways(
    schema: Schema, fixed: Mapping[str, int], past: PastDisclosures, *, parts: bool
) -> dict[str, list[_Way]]:
    """Return the ways of every attribute that the query fixes or that was disclosed, in the schema's order."""
    how = _ways_to_parts if parts else _ways_to_all
    ways = {
        each.name: how(each, fixed.get(each.name), past.get(each.name, ()))
        for each in schema.attributes
        if each.name in fixed or each.name in past
    }
    if [name for name in ways if name in fixed] != list(fixed):
        raise BadInputError("fixed attributes must be in the schema's order; sort them as fixed_codes does")
    return ways


def _ways_to_parts(attribute: Attribute, code: int | None, nodes: Sequence[Node]) -> list[_Way]:
    """Return the ways to believe nothing about an attribute, a past disclosure, or the query's value."""
    top = attribute.top
    if code is not None and not nodes:
        return [_Way(code, _parts((), top, fixed=True), top + 1)]
    first, *others = _chains(attribute, nodes, code).items()
    # The first way covers believing the query's value or nothing, so the others need not.
    ways = [_Way(first[0], _parts(tuple(first[1]), top, fixed=code is not None), top + 1)]
    states = 1 if code is None else top + 1
    return ways + [_known_way(attribute, foot, rungs, states) for foot, rungs in others]


def _known_way(attribute: Attribute, foot: int, rungs: Sequence[int], states: int) -> _Way:
    """Return the way to believe a past disclosure, whatever is sent: a value on one of some rungs."""
    node = (foot, rungs[0]) if len(rungs) == 1 else None
    return _Way(foot, tuple((rung,) * states for rung in rungs), attribute.top + 1, node)


@lru_cache(maxsize=1 << 10)
def _parts(rungs: tuple[int, ...], top: int, *, fixed: bool) -> _Beliefs:
    """Return the beliefs in one of the given rungs, in the rung that is sent, or in nothing."""
    known = [sorted({*rungs, sent, top}) for sent in (range(top + 1) if fixed else (top,))]
    most = max(map(len, known))
    return tuple(tuple(some[min(place, len(some) - 1)] for some in known) for place in range(most))


def _ways_to_all(attribute: Attribute, code: int | None, nodes: Sequence[Node]) -> list[_Way]:
    """Return the ways to believe the finest of an attribute's past disclosures and the query's value."""
    size = attribute.top + 1
    finest = _finest(attribute, nodes)
    if code is None:
        return [_known_way(attribute, foot, [rung], 1) for foot, rung in finest]
    above = [rung for foot, rung in finest if _is_above(attribute, (foot, rung), code)]
    apart = [node for node in finest if not _is_above(attribute, node, code)]
    # Without a node above it, the query's value discloses something new only below the rung on which it agrees with a node.
    agreement = attribute.agreement(code)
    ends = min((int(agreement[foot]) for foot, _ in apart), default=size)
    own = [min(rung, *above) if above else rung if rung < ends else _IMPOSSIBLE for rung in range(size)]
    others = [_known_way(attribute, foot, [rung], size) for foot, rung in apart]
    return [_Way(code, (tuple(own),), size), *others]


def _chains(attribute: Attribute, nodes: Sequence[Node], first: int | None) -> dict[int, list[int]]:
    """Return values such that every node is above one of them, each with the rungs of its nodes.

    `first` is the first of them if it is given, also if no node is above it.
    """
    waiting = sorted(nodes, key=lambda node: node[::-1])
    chains: dict[int, list[int]] = {}
    foot = first if first is not None else waiting[0][0]
    while True:
        above = [node for node in waiting if _is_above(attribute, node, foot)]
        chains[foot] = [rung for _, rung in above]
        if len(above) == len(waiting):
            return chains
        waiting = [node for node in waiting if node not in above]
        foot = waiting[0][0]


def _is_above(attribute: Attribute, node: Node, code: int) -> bool:
    """Return whether a value of the domain is under a node."""
    other, rung = node
    return other == code or (rung > 0 and bool(attribute.value(other, rung) == attribute.value(code, rung)))


def _check_size(schema: Schema, alone: Lattice, ways: Mapping[str, Sequence[_Way]]) -> None:
    """Refuse more combinations than can be tried."""
    if math.prod(map(len, ways.values())) > MOST_COMBINATIONS:
        raise TooManyDisclosuresError(
            f"past disclosures to this provider can be combined in more than {MOST_COMBINATIONS} ways: "
            "use values that were disclosed before, or wait until disclosures expire"
        )
    counted = [[way.size for way in some if way.node is None] for some in ways.values()]
    cells = math.prod(max(sizes, default=1) for sizes in counted)
    widest = max(len(schema[name].domain) for name in alone.protected)
    if cells > len(alone.totals) and cells * widest > MOST_CELLS:
        raise TooManyDisclosuresError(
            f"the query and past disclosures to this provider have {len(ways)} attributes, too many to try all "
            "their combinations: fix fewer, or wait until disclosures expire"
        )


def _believed(counter: Counter, alone: Lattice, ways: Mapping[str, _Way]) -> Iterator[Lattice]:
    """Yield for each protected attribute the lattice that is easiest to guess from on some ways, in each state."""
    known = {name: way.node for name, way in ways.items() if way.node is not None}
    codes = {name: way.code for name, way in ways.items() if way.node is None}
    counts = counter.lattice(codes, alone.protected, known).counts[0]
    axes = tuple((way.size if name in codes else 1, way.beliefs) for name, way in ways.items())
    nothing = -1 if known else counts.shape[1] - 1
    for guesses in counts[1:]:
        places = easiest(counts[0], guesses, *_packed(axes), nothing)
        found = np.where(places < 0, alone.counts[0], counts[:, places])
        yield Lattice.of_counts(alone.shape, alone.protected, found[None])


@lru_cache(maxsize=1 << 12)
def _packed(
    axes: tuple[tuple[int, _Beliefs], ...],
) -> tuple[Ints64, Ints64]:
    """Return the counted and the believed rungs of some attributes in the form that `easiest` takes."""
    shapes = [(size, len(beliefs), len(beliefs[0])) for size, beliefs in axes]
    # A node that is known in any case is not counted by rungs: it has only one place.
    rungs = [rung if size > 1 else 0 for size, beliefs in axes for belief in beliefs for rung in belief]
    return np.array(shapes, dtype=np.int64).reshape(-1, 3), np.array(rungs, dtype=np.int64)


def _node(attribute: Attribute, text: str) -> Node:
    """Parse a node that `stored` wrote."""
    number, slash, value = text.partition("/")
    if slash and re.fullmatch("[0-9]{1,3}", number) and int(number) < attribute.top:
        node = attribute.node(value, int(number))
        if node is not None:
            return node
    raise _unknown(attribute.name)


def _finest(attribute: Attribute, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Leave out nodes that have a finer node under them."""

    def has_finer(node: Node) -> bool:
        return any(rung < node[1] and _is_above(attribute, node, code) for code, rung in nodes)

    return tuple(node for node in nodes if not has_finer(node))


def _unknown(name: str) -> PastDisclosuresError:
    return PastDisclosuresError(
        f"attribute '{name}' had a value, disclosed to this provider before, that the table no longer has: "
        "add it to the table, its domain or its ladder again, or wait until the disclosure expires"
    )
