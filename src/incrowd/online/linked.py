"""Linked queries: what a person has told a provider before counts together with what is asked now.

Each query that was sent says of some attributes on which *node* of its ladder the person is. The provider
puts them side by side: it counts only the people who agree with all of them. So a query may be sent only if
the protected values stay hard to guess from the query alone (for a provider who does not link) and from the
query together with everything told before.

What was told of one attribute may disagree: Essex first, Dukes now. Then only one of them is true of the
person, and the provider may believe either, so every combination of one node for each attribute must be
private. That also covers a provider who leaves open which one is true: guessing entropy is concave (it is a
least expected rank, over all orders of guessing), so a mixture of combinations is at least as hard to guess
from as the easiest of them. A node under another one (Essex, Massachusetts) does not disagree with it: the
finer one says all that the coarser one said.

After every query that was sent, every combination of what the provider knows is then private: the next
query starts from there. Where that no longer holds, because the policy became stricter or the table changed,
nothing more is sent.

What it does not promise: providers who put together what each was told, and a provider who disbelieves a part
of what it was told. Guessing entropy may fall when less is known, as it may for a single query.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import IncrowdError
from incrowd.online.counters import Counter
from incrowd.online.lattice import Lattice, Rungs
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
"""The most combinations of what a provider may believe that are tried."""

Told = Mapping[str, tuple[Node, ...]]
"""What was told of each attribute: nodes that exclude each other."""


class ToldError(IncrowdError):
    """What was told before cannot be reckoned with, or gives too much away: nothing may be sent."""


class TooManyToldError(ToldError):
    """What was told before can be believed in too many ways: nothing may be sent."""


def stored(nodes: Mapping[str, Node], schema: Schema) -> dict[str, str]:
    """Return what the ledger is to remember of a query: ``"0/Essex"``, a rung and the text on it."""
    return {name: f"{rung}/{text_of(schema[name].value(code, rung))}" for name, (code, rung) in nodes.items()}


def told_nodes(disclosed: Mapping[str, Iterable[str]], schema: Schema) -> dict[str, tuple[Node, ...]]:
    """Read back what the ledger remembers, the finest of what was told of each attribute.

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
        told[name] = _finest(schema[name], sorted(_node(schema[name], text) for text in texts))
    return told


def linked_lattices(
    counter: Counter, fixed: Mapping[str, int], protected: Sequence[str], told: Told
) -> list[Lattice]:
    """Return the lattices in which a state of the query must be private to be sent, all of one shape.

    The first is of the query alone. There is one more for each combination of what the provider may believe
    after the query; without a past there is none. Where a combination cannot be believed (it takes the query's
    value of an attribute which the state does not send, or does not send finely enough to say more than was
    told), it repeats the first lattice: no condition of its own.

    Parameters
    ----------
    counter
        What counts the rows.
    fixed
        The query: for each attribute its value's code. None of them is protected.
    protected
        The attributes to protect.
    told
        What was told before, see `told_nodes`.
    """
    for name in protected:
        if name in told:
            raise ToldError(
                f"attribute '{name}' is protected now but was told to this provider before: "
                "protect it no longer, or wait until what was told expires"
            )
    alone = counter.lattice(fixed, protected)
    past = {name: nodes for name, nodes in told.items() if nodes}
    beliefs = [_beliefs(counter.schema[name], fixed.get(name), nodes) for name, nodes in past.items()]
    if math.prod(len(each) for each in beliefs) > MOST_COMBINATIONS:
        raise TooManyToldError(
            f"what was told to this provider before can be believed in more than {MOST_COMBINATIONS} ways: "
            "ask for values that were asked for before, or wait until what was told expires"
        )
    if not past:
        return [alone]
    return [alone, *(_believed(counter, fixed, alone, chosen) for chosen in itertools.product(*beliefs))]


@dataclass(frozen=True)
class _Belief:
    """One way to believe what is known of an attribute.

    Parameters
    ----------
    name
        The attribute.
    told
        The node told before that is believed; None for the query's own value instead.
    ends
        The query's value counts on the rungs below this one. On the others a belief in the query's own
        value cannot be: what was told before says at least as much.
    """

    name: str
    told: Node | None
    ends: int


def _beliefs(attribute: Attribute, code: int | None, nodes: Sequence[Node]) -> list[_Belief]:
    """Return the ways to believe what was told of an attribute, together with the query's value if it has one."""
    name = attribute.name
    if code is None:
        return [_Belief(name, node, 0) for node in nodes]
    agreement = attribute.agreement(code)
    # Nodes that the query's value lies under: one at most, as they exclude each other.
    above = {node for node in nodes if agreement[node[0]] <= node[1]}
    beliefs = [_Belief(name, node, node[1] if node in above else 0) for node in nodes]
    if not above:
        beliefs.append(_Belief(name, None, min(int(agreement[node[0]]) for node in nodes)))
    return beliefs


def _believed(
    counter: Counter, fixed: Mapping[str, int], alone: Lattice, chosen: Sequence[_Belief]
) -> Lattice:
    """Count the states of a query for somebody who believes what is chosen."""
    known = {belief.name: belief.told for belief in chosen if belief.told is not None}
    # Of an attribute that was told as finely, or otherwise, the query's value says nothing: do not look at it.
    silent = {belief.name for belief in chosen if not belief.ends}
    heard = {name: code for name, code in fixed.items() if name not in silent}
    counted = counter.lattice(heard, alone.protected, known)
    shape = tuple(1 if name in silent else size for name, size in zip(fixed, alone.shape, strict=True))
    *before, _ = alone.counts.shape  # the states are the last axis
    spread = np.broadcast_to(counted.counts.reshape(*before, *shape), (*before, *alone.shape))
    possible = _possible(fixed, alone.shape, chosen)
    counts = np.where(possible, spread.reshape(alone.counts.shape), alone.counts)
    return Lattice.of_counts(alone.shape, alone.protected, counts)


def _possible(fixed: Mapping[str, int], shape: Rungs, chosen: Sequence[_Belief]) -> NDArray[np.bool_]:
    """Tell for each state whether all that is believed to be the query's own was sent in it, and is news."""
    possible = np.ones(shape, dtype=bool)
    for belief in chosen:
        if belief.told is None:
            axis = list(fixed).index(belief.name)
            np.moveaxis(possible, axis, 0)[belief.ends :] = False
    return possible.ravel()


def _node(attribute: Attribute, text: str) -> Node:
    """Return the node that `stored` wrote down."""
    number, slash, value = text.partition("/")
    if slash and re.fullmatch("[0-9]{1,3}", number) and int(number) < attribute.top:
        rung = int(number)
        codes = range(len(attribute.domain))
        under = [code for code in codes if text_of(attribute.value(code, rung)) == value]
        # Two coarser values that read the same cannot be told apart: then there are more than agree.
        if under and len(under) == np.count_nonzero(attribute.agreement(under[0]) <= rung):
            return under[0], rung
    raise _unknown(attribute.name)


def _finest(attribute: Attribute, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Leave out the nodes that have a finer one under them."""

    def has_finer(node: Node) -> bool:
        agreement = attribute.agreement(node[0])
        return any(rung < node[1] and agreement[code] <= node[1] for code, rung in nodes)

    return tuple(node for node in nodes if not has_finer(node))


def _unknown(name: str) -> ToldError:
    return ToldError(
        f"attribute '{name}' had a value, told to this provider before, that the table no longer has: "
        "give it back in the table, its domain or its ladder, or wait until what was told expires"
    )
