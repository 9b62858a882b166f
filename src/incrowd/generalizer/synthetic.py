"""A synthetic auxiliary table in the style of HMDA: denied applications for home loans.

Oh, Kim & Obi (IEICE Trans. Inf. & Syst. 2012, section 5) measure on such a table of Massachusetts (66,270 applications).
This one is fully synthetic: the shares below are plausible guesses, and no real person is in it. It has the properties
that matter for guessing: amounts are skewed and cluster on round sums, loans depend on incomes, incomes on counties, one
county is large and one race has most of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from incrowd.core.types import Ints32
from incrowd.errors import check_least

__all__ = ["synthetic_loans"]

LOANS, INCOMES = 236, 206
"""The numbers of groups of amounts, as in the paper."""

COUNTIES: Mapping[str, tuple[float, float]] = {  # share of the rows in %, and how far incomes are shifted
    "Barnstable": (3.4, 0.0),
    "Berkshire": (1.9, -0.4),
    "Bristol": (8.3, -0.3),
    "Dukes": (0.3, 0.3),
    "Essex": (11.6, 0.0),
    "Franklin": (1.1, -0.4),
    "Hampden": (6.7, -0.6),
    "Hampshire": (2.3, -0.2),
    "Middlesex": (23.0, 0.4),
    "Nantucket": (0.2, 0.8),
    "Norfolk": (10.2, 0.4),
    "Plymouth": (7.5, 0.0),
    "Suffolk": (11.2, -0.1),
    "Worcester": (12.3, -0.2),
}
RACES: Mapping[str, tuple[float, float]] = {  # share in %, and in Suffolk and Hampden
    "American Indian": (0.7, 0.8),
    "Asian": (6.0, 6.0),
    "Black": (6.5, 21.0),
    "Pacific Islander": (0.4, 0.5),
    "Two or more": (1.2, 1.7),
    "White": (67.2, 53.0),
    "Not provided": (18.0, 17.0),
}
GENDERS: Mapping[str, tuple[float, float]] = {  # share in %, and where the race is not provided
    "Female": (33.0, 12.0),
    "Male": (63.5, 25.0),
    "Not provided": (3.0, 55.0),
    "Not applicable": (0.5, 8.0),
}
REASONS: Mapping[str, tuple[float, float]] = {  # share in % where incomes are low, and where they are high
    "Collateral": (10.0, 24.0),
    "Credit history": (26.0, 19.0),
    "Debt-to-income ratio": (38.0, 14.0),
    "Employment history": (3.0, 2.0),
    "Incomplete application": (6.0, 18.0),
    "Insufficient cash": (4.0, 4.0),
    "Insurance denied": (0.5, 0.5),
    "Unverifiable information": (4.5, 7.5),
    "Other": (8.0, 11.0),
}

_TICKETS = 2000  # a share of 0.05 % is one ticket
_FARTHEST = 3.0  # standard deviations: the first and the last group take all beyond
_ROUND_SUMS = 0.3  # how many amounts are given as a round sum
_ROUND_STEP = 5  # every fifth group stands for a round sum


def synthetic_loans(rows: int, seed: int = 0) -> pa.Table:
    """Return a synthetic table of denied loan applications; the same rows and seed give the same table.

    Parameters
    ----------
    rows
        The number of applications, at least 1.
    seed
        The seed of the random generator.

    Returns
    -------
    pyarrow.Table
        loan and income in dollars (236 and 206 groups), reason (9), county (14), race (7) and gender (4).
    """
    check_least("rows", rows)
    random = np.random.default_rng(seed)
    county = _draw(random, _tickets(COUNTIES, 0), np.zeros(rows, dtype=np.uint8))
    names = list(COUNTIES)
    mixed = np.isin(county, [names.index("Suffolk"), names.index("Hampden")])
    race = _draw(random, _tickets(RACES, 0, 1), mixed.astype(np.uint8))
    unsaid = race == list(RACES).index("Not provided")
    gender = _draw(random, _tickets(GENDERS, 0, 1), unsaid.astype(np.uint8))
    earned = random.standard_normal(rows, dtype=np.float32)
    earned += np.array([shift for _, shift in COUNTIES.values()], dtype=np.float32)[county]
    borrowed = 0.6 * earned + 0.8 * random.standard_normal(rows, dtype=np.float32)
    reason = _draw(random, _tickets(REASONS, 0, 1), (earned > 0).astype(np.uint8))
    return pa.table(
        {
            "loan": _amounts(150_000, 0.8, LOANS)[_groups(random, borrowed, LOANS)],
            "income": _amounts(68_000, 0.55, INCOMES)[_groups(random, earned, INCOMES)],
            "reason": _texts(reason, REASONS),
            "county": _texts(county, COUNTIES),
            "race": _texts(race, RACES),
            "gender": _texts(gender, GENDERS),
        }
    )


def _tickets(shares: Mapping[str, tuple[float, float]], *columns: int) -> NDArray[np.uint8]:
    """Return for each column of shares an urn with the values, each as often as its share says."""
    urns = []
    for column in columns:
        upto = np.cumsum([share[column] for share in shares.values()])
        places = (np.arange(_TICKETS) + 0.5) / _TICKETS * upto[-1]
        urns.append(np.searchsorted(upto, places).astype(np.uint8))
    return np.array(urns)


def _draw(
    random: np.random.Generator, urns: NDArray[np.uint8], which: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Draw one ticket for each row, from the row's urn."""
    return urns[which, random.integers(_TICKETS, size=len(which), dtype=np.uint16)]


def _groups(random: np.random.Generator, normal: NDArray[np.float32], groups: int) -> NDArray[np.int16]:
    """Cut log-normal amounts, given by their logarithms, into groups of equal ratio; some are round sums."""
    places = ((normal + _FARTHEST) * (groups / (2 * _FARTHEST))).astype(np.int16)
    is_round = random.random(len(normal), dtype=np.float32) < _ROUND_SUMS
    places[is_round] -= places[is_round] % _ROUND_STEP
    return np.clip(places, 0, groups - 1)


def _amounts(median: int, spread: float, groups: int) -> Ints32:
    """Return the amount in dollars, to the hundred, that each group stands for."""
    logarithms = np.linspace(-_FARTHEST * spread, _FARTHEST * spread, groups)
    return (np.round(median * np.exp(logarithms) / 100) * 100).astype(np.int32)


def _texts(codes: NDArray[np.uint8], names: Mapping[str, object]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names)))
