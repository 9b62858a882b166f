"""The query generalizer: what to send to an untrusted provider in place of a query. No input, no output."""

from __future__ import annotations

from incrowd.online.counters import Counter, Sample, Scan, choose_counter, describe
from incrowd.online.cube import Cube, open_cube, predicted_bytes
from incrowd.online.decision import STRICT, Decision
from incrowd.online.entropy import as_fraction, guess_sum, is_private
from incrowd.online.generalizer import STRATEGIES, decide, fixed_codes, fixed_state, generalize
from incrowd.online.lattice import Lattice, build_lattice
from incrowd.online.policy import Policy, parse_policies, parse_policy
from incrowd.online.schema import Attribute, AuxiliaryTable, Node, Schema, encode, schema_of, text_of

__all__ = [
    "STRATEGIES",
    "STRICT",
    "Attribute",
    "AuxiliaryTable",
    "Counter",
    "Cube",
    "Decision",
    "Lattice",
    "Node",
    "Policy",
    "Sample",
    "Scan",
    "Schema",
    "as_fraction",
    "build_lattice",
    "choose_counter",
    "decide",
    "describe",
    "encode",
    "fixed_codes",
    "fixed_state",
    "generalize",
    "guess_sum",
    "is_private",
    "open_cube",
    "parse_policies",
    "parse_policy",
    "predicted_bytes",
    "schema_of",
    "text_of",
]
