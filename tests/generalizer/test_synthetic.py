"""The synthetic table has the documented shape."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.errors import BadInputError
from incrowd.generalizer import encode, schema_of
from incrowd.generalizer.synthetic import synthetic_loans

ROWS = 66_270
LOANS = synthetic_loans(ROWS)


def share(column, value):
    return LOANS[column].to_pylist().count(value) / ROWS


def test_it_has_the_papers_attributes_and_domains():
    schema = schema_of(LOANS)
    assert LOANS.num_rows == ROWS
    assert schema.names == ("loan", "income", "reason", "county", "race", "gender")
    assert [len(attribute.domain) for attribute in schema.attributes] == [236, 206, 9, 14, 7, 4]
    assert encode(LOANS, schema).rows == ROWS


def test_it_is_skewed_as_such_data_are():
    assert share("county", "Middlesex") == pytest.approx(0.23, abs=0.01)
    assert share("county", "Nantucket") < 0.01
    assert share("race", "White") == pytest.approx(0.65, abs=0.01)
    for name in ("loan", "income"):
        amounts = LOANS[name].to_numpy()
        assert amounts.mean() > 1.1 * np.median(amounts)
        _, counts = np.unique(amounts, return_counts=True)
        assert counts.max() > 50 * counts.min()


def test_it_is_correlated_as_such_data_are():
    loans, incomes = np.log(LOANS["loan"].to_numpy()), np.log(LOANS["income"].to_numpy())
    assert np.corrcoef(loans, incomes)[0, 1] == pytest.approx(0.6, abs=0.05)
    county = np.array(LOANS["county"].to_pylist())
    assert np.median(incomes[county == "Norfolk"]) > np.median(incomes[county == "Hampden"]) + 0.3
    reason = np.array(LOANS["reason"].to_pylist())
    ratio = reason == "Debt-to-income ratio"
    assert ratio[incomes < np.median(incomes)].mean() > 2 * ratio[incomes > np.median(incomes)].mean()


def test_the_seed_decides():
    assert synthetic_loans(500, seed=3).equals(synthetic_loans(500, seed=3))
    assert not synthetic_loans(500, seed=3).equals(synthetic_loans(500, seed=4))


def test_it_has_at_least_one_row():
    assert synthetic_loans(1).num_rows == 1
    with pytest.raises(BadInputError, match="rows must be at least 1"):
        synthetic_loans(0)
