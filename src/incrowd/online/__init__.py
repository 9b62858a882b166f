"""The query generalizer: what to send to an untrusted provider in place of a query. No input, no output."""

from __future__ import annotations

from incrowd.online.entropy import as_fraction, guess_sum, is_private
from incrowd.online.generalizer import STRATEGIES, Decision, decide, fixed_codes, generalize
from incrowd.online.lattice import Lattice, build_lattice
from incrowd.online.policy import Policy, parse_policies, parse_policy
from incrowd.online.schema import Attribute, AuxiliaryTable, Node, Schema, encode, schema_of, text_of

__all__ = [
    "STRATEGIES",
    "Attribute",
    "AuxiliaryTable",
    "Decision",
    "Lattice",
    "Node",
    "Policy",
    "Schema",
    "as_fraction",
    "build_lattice",
    "decide",
    "encode",
    "fixed_codes",
    "generalize",
    "guess_sum",
    "is_private",
    "parse_policies",
    "parse_policy",
    "schema_of",
    "text_of",
]
