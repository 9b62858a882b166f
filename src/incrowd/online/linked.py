"""Linked queries: what a person has disclosed to a provider before counts together with the new query.

Each query that was sent says of some attributes on which *node* of its ladder the person is. The provider
puts them side by side: it counts only the people who agree with all of them. So a query may be sent only if
the protected values stay hard to guess from the query alone and from the query together with past disclosures.

What was disclosed of one attribute may disagree: Essex first, Dukes now. Then only one of them is true of the
person, and the provider may believe either, so every combination of one node for each attribute must be
private. That also covers a provider who leaves open which one is true: guessing entropy is concave (it is a
least expected rank, over all orders of guessing), so a mixture of combinations is at least as hard to guess
from as the easiest of them.

Every part, or all together
---------------------------
Guessing entropy may fall when *less* is known: all together may be private and a part of it not. A provider
knows a part if it looks at one session or the last few queries, or disbelieves something. So there are two
promises:

- With ``parts`` (the default), every part of what was ever disclosed is private: every combination that takes,
  for each attribute, none or one of its nodes, those of the new query included, and is not empty. Any subset of
  the queries that were sent says such a combination (or several, where it contradicts itself), and so does any
  part of one query. As the new query is part of it afterwards, the promise holds again for the next one: what was
  sent once may be sent again, and so may the query for everything, if it is private by itself.
- Without it, only the new query alone and the new query together with *all* past disclosures are private. A node
  under another one (Essex, Massachusetts) does not disagree with it: the finer one says all that the coarser
  one said.

Where the promise no longer holds for the past, because the policy became stricter or the table changed, nothing
more is sent (without ``parts``: only what is private together with the past as it is).

What it does not promise
------------------------
- Providers who put together what each of them knows: each has a past of its own.
- A refusal that the provider notices, because the person stops, say. What was sent is private, but a refusal
  tells that the next query was not, and among the people who would have been refused the protected value may be
  easier to guess.

``benchmarks/linked_subsets.py`` measures how often parts fall below the demand, what protecting them costs, and
what a noticed refusal tells.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import BadInputError, IncrowdError
from incrowd.online.choose import easiest
from incrowd.online.counters import Counter
from incrowd.online.lattice import MOST_CELLS, Lattice
from incrowd.online.schema import Attribute, Node, Schema, text_of

__all__ = [
    "MOST_COMBINATIONS",
    "Told",
    "ToldError",
    "TooManyToldError",
    "linked_lattices",
    "stored",
    "told_nodes",
]

MOST_COMBINATIONS = 64
"""The most combinations of contradicting disclosures that are tried."""

Told = Mapping[str, tuple[Node, ...]]
"""The nodes of each attribute that were disclosed before."""

_IMPOSSIBLE = -1
_Beliefs = tuple[tuple[int, ...], ...]


class ToldError(IncrowdError):
    """Past disclosures cannot be reckoned with, or give too much away: nothing may be sent."""


class TooManyToldError(ToldError):
    """Past disclosures can be combined in too many ways: nothing may be sent."""


def stored(nodes: Mapping[str, Node], schema: Schema) -> dict[str, str]:
    """Return what the ledger is to remember of a query: ``"0/Essex"``, a rung and the text on it."""
    return {name: f"{rung}/{text_of(schema[name].value(code, rung))}" for name, (code, rung) in nodes.items()}


def told_nodes(disclosed: Mapping[str, Iterable[str]], schema: Schema) -> dict[str, tuple[Node, ...]]:
    """Read back what the ledger remembers.

    Raises
    ------
    ToldError
        If the schema has no such attribute, rung or value any more. Without it nobody can tell what the
        provider knows, so nothing may be sent.
    """
    told = {}
    for name, texts in disclosed.items():
        if name not in schema.names:
            raise _unknown(name)
        # Sorted: the order in which combinations are tried must not hang on the order of a set.
        told[name] = tuple(sorted(_node(schema[name], text) for text in texts))
    return told


def linked_lattices(
    counter: Counter, fixed: Mapping[str, int], protected: Sequence[str], told: Told, *, parts: bool = True
) -> list[Lattice]:
    """Return the lattices in which a state of the query must be private to be sent, all of one shape.

    The first is of the query alone. The others are of the query for a provider who believes, in each state, what
    makes a protected attribute easiest to guess: one for each protected attribute and each way to choose between
    past disclosures that contradict each other or the query. Where none of that is possible (the query's value
    is not sent, or not finely enough to say more than was disclosed), the first lattice is repeated: no condition
    of its own.

    Parameters
    ----------
    counter
        What counts the rows.
    fixed
        The query: for each attribute, in the schema's order, its value's code. None of them is protected.
    protected
        The attributes to protect.
    told
        What was disclosed before, see `told_nodes`.
    parts
        Whether every part of what is disclosed must be private, or only the query and all together.
    """
    for name in protected:
        if name in told:
            raise ToldError(
                f"attribute '{name}' is protected now but was told to this provider before: "
                "protect it no longer, or wait until what was told expires"
            )
    alone = counter.lattice(fixed, protected)
    past = {name: nodes for name, nodes in told.items() if nodes}
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
    """The way up the ladder from one value of an attribute, and what a provider may believe of it.

    Parameters
    ----------
    code
        The value at its foot.
    beliefs
        For each belief, and for each rung on which the query may send the attribute (only the top if it does not
        fix it), the rung on which the provider then knows the value; `_IMPOSSIBLE` where there is no such belief.
    size
        The number of the attribute's rungs, "don't care" included.
    node
        What is known in any case; None if it depends on the belief or on what is sent.
    """

    code: int
    beliefs: _Beliefs
    size: int
    node: Node | None = None


def _all_ways(schema: Schema, fixed: Mapping[str, int], past: Told, *, parts: bool) -> dict[str, list[_Way]]:
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
    """Return the ways to believe nothing of an attribute, what was disclosed of it, or the query's value."""
    top = attribute.top
    if code is not None and not nodes:
        return [_Way(code, _parts((), top, fixed=True), top + 1)]
    first, *others = _chains(attribute, nodes, code).items()
    # The query's value, or nothing, is believed on the first way and need not be on the others.
    ways = [_Way(first[0], _parts(tuple(first[1]), top, fixed=code is not None), top + 1)]
    states = 1 if code is None else top + 1
    return ways + [_known_way(attribute, foot, rungs, states) for foot, rungs in others]


def _known_way(attribute: Attribute, foot: int, rungs: Sequence[int], states: int) -> _Way:
    """Return the way to believe what was disclosed, whatever is sent: a value on one of some rungs."""
    node = (foot, rungs[0]) if len(rungs) == 1 else None
    return _Way(foot, tuple((rung,) * states for rung in rungs), attribute.top + 1, node)


@lru_cache(maxsize=1 << 10)
def _parts(rungs: tuple[int, ...], top: int, *, fixed: bool) -> _Beliefs:
    """Return the beliefs on one of the given rungs, on the rung that is sent, or in nothing."""
    known = [sorted({*rungs, sent, top}) for sent in (range(top + 1) if fixed else (top,))]
    most = max(map(len, known))
    return tuple(tuple(some[min(place, len(some) - 1)] for some in known) for place in range(most))


def _ways_to_all(attribute: Attribute, code: int | None, nodes: Sequence[Node]) -> list[_Way]:
    """Return the ways to believe the finest of what was disclosed of an attribute and of the query's value."""
    size = attribute.top + 1
    finest = _finest(attribute, nodes)
    if code is None:
        return [_known_way(attribute, foot, [rung], 1) for foot, rung in finest]
    above = [rung for foot, rung in finest if _is_above(attribute, (foot, rung), code)]
    apart = [node for node in finest if not _is_above(attribute, node, code)]
    # Without a node above it, the query's value is news only below the rung on which it agrees with a node.
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
    """Tell whether a value of the domain lies under a node."""
    other, rung = node
    return other == code or (rung > 0 and bool(attribute.value(other, rung) == attribute.value(code, rung)))


def _check_size(schema: Schema, alone: Lattice, ways: Mapping[str, Sequence[_Way]]) -> None:
    """Refuse more combinations than can be tried."""
    if math.prod(map(len, ways.values())) > MOST_COMBINATIONS:
        raise TooManyToldError(
            f"what was told to this provider before can be believed in more than {MOST_COMBINATIONS} ways: "
            "ask for values that were asked for before, or wait until what was told expires"
        )
    counted = [[way.size for way in some if way.node is None] for some in ways.values()]
    cells = math.prod(max(sizes, default=1) for sizes in counted)
    widest = max(len(schema[name].domain) for name in alone.protected)
    if cells > len(alone.totals) and cells * widest > MOST_CELLS:
        raise TooManyToldError(
            f"the query and what was told to this provider before have {len(ways)} attributes, too many to try all "
            "their combinations: fix fewer, or wait until what was told expires"
        )


def _believed(counter: Counter, alone: Lattice, ways: Mapping[str, _Way]) -> Iterator[Lattice]:
    """Yield for each protected attribute what makes it easiest to guess on some ways, in each state."""
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
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rungs that are counted of some attributes and those that are believed, as `easiest` takes them."""
    shapes = [(size, len(beliefs), len(beliefs[0])) for size, beliefs in axes]
    # What is known in any case is not counted by rungs: it has one place only.
    rungs = [rung if size > 1 else 0 for size, beliefs in axes for belief in beliefs for rung in belief]
    return np.array(shapes, dtype=np.int64).reshape(-1, 3), np.array(rungs, dtype=np.int64)


def _node(attribute: Attribute, text: str) -> Node:
    """Return the node that `stored` wrote down."""
    number, slash, value = text.partition("/")
    if slash and re.fullmatch("[0-9]{1,3}", number) and int(number) < attribute.top:
        node = attribute.node(value, int(number))
        if node is not None:
            return node
    raise _unknown(attribute.name)


def _finest(attribute: Attribute, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Leave out the nodes that have a finer one under them."""

    def has_finer(node: Node) -> bool:
        return any(rung < node[1] and _is_above(attribute, node, code) for code, rung in nodes)

    return tuple(node for node in nodes if not has_finer(node))


def _unknown(name: str) -> ToldError:
    return ToldError(
        f"attribute '{name}' had a value, told to this provider before, that the table no longer has: "
        "give it back in the table, its domain or its ladder, or wait until what was told expires"
    )
