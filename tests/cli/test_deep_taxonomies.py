"""A taxonomy that is one long chain: 1,500 levels, in each form that a taxonomy file may have."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cli.helpers import aol_log, call
from incrowd.taxonomy import read_taxonomy

LEVELS = 1_500
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


def test_all_forms_are_the_same_tree_but_for_the_labels_of_paths(chain):
    rows, paths, others = (read_taxonomy(chain / form) for form in ("arx", "path", "child-parent"))
    assert rows.labels.to_pylist() == others.labels.to_pylist() == NAMES
    assert paths.labels[-1].as_py() == "/".join(NAMES)
    assert all(tree.parent.tolist() == [*range(-1, LEVELS - 1)] for tree in (rows, paths, others))


# All methods on the form with the longest labels, and one on each of the other two, which are the same tree.
@pytest.mark.parametrize(
    ("method", "form"),
    [
        *((method, "path") for method in ("flock", "partition", "clump", "apriori", "ssc")),
        ("flock", "child-parent"),
        ("ssc", "arx"),
    ],
)
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
