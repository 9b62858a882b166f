"""The query generalizer: decides what to send to an untrusted provider in place of a query. It does no input or output."""

from __future__ import annotations

from incrowd.generalizer.counters import Counter, Sample, Scan, choose_counter, describe
from incrowd.generalizer.cube.cube import Cube, open_cube
from incrowd.generalizer.cube.layout import predicted_bytes
from incrowd.generalizer.decision import STRICT, Decision
from incrowd.generalizer.entropy import as_fraction, guess_sum, is_private
from incrowd.generalizer.generalizer import STRATEGIES, decide, fixed_codes, fixed_state, generalize
from incrowd.generalizer.lattice import Lattice, build_lattice
from incrowd.generalizer.policy import Policy, parse_policies, parse_policy
from incrowd.generalizer.schema import Attribute, AuxiliaryTable, Node, Schema, encode, schema_of, text_of

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
