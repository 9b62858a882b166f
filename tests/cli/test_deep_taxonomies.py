"""A taxonomy that is one long chain: 1,100 levels, in each form that a taxonomy file may have."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cli.helpers import aol_log, call

LEVELS = 1_100  # more than Python lets functions call each other
NAMES = [f"level{number}" for number in range(LEVELS)]
FORMS = {
    "child-parent": "".join(f"{child}\t{parent}\n" for parent, child in pairwise(NAMES)),
    "path": "/".join(NAMES) + "\n",
    "arx": ";".join(reversed(NAMES)) + "\n",
}
DEEPEST = (NAMES[-1], NAMES[-2])


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Return a directory with the three files and a log of queries from the chain's end and from its beginning."""
    directory = tmp_path_factory.mktemp("chain")
    for form, text in FORMS.items():
        (directory / form).write_text(text)
    aol_log(directory / "log.tsv", {user: [*DEEPEST, NAMES[user + 1]] for user in range(12)})
    return directory


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["flock", "partition", "clump", "apriori", "ssc"])
def test_a_chain_of_many_levels_is_anonymized_and_audited(chain, tmp_path, form, method):
    out, private_map = tmp_path / "release", tmp_path / "map"
    items = "concepts" if method == "ssc" else "terms"
    ran = call(
        *(
            "anonymize",
            "--method=flock",
            chain / "log.tsv",
            "--out",
            out,
            "--private-map",
            private_map,
            "--k",
            3,
        ),
        *("--taxonomy", chain / form, "--items", items, "--method", method),
    )
    assert ran.code == 0, ran.err
    ran = call("audit", out, "--original", chain / "log.tsv", "--private-map", private_map)
    assert ran.code == 0, ran.err
