"""What a release is on disk."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
import reference
from incrowd.report.vega import library

K = 3
CHILDREN = {
    "food": ["drink", "bread", "fruit"],
    "drink": ["milk", "alcohol"],
    "alcohol": ["beer", "wine"],
    "fruit": ["apple", "<script>alert(1)</script>"],
}
ROWS = (
    [["milk", "bread"]] * 5
    + [["milk", "beer", "beer"]] * 4
    + [["drink"], ["drink", "wine"]] * 3
    + [["apple"]]
    + [[]] * 2
    + [["<script>alert(1)</script>"]] * 8
)
ATTRIBUTES_THAT_LOAD = {"src", "href", "action", "data", "poster", "srcset"}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("taxonomy") / "taxonomy.tsv"
    path.write_text(
        "".join(f"{child}\t{parent}\n" for parent, family in CHILDREN.items() for child in family)
    )
    return ic.anonymize(
        ic.Transactions.from_rows(ROWS), ic.read_taxonomy(path), k=K, method="partition", publish="bag"
    )


@pytest.fixture(scope="module")
def written(release, tmp_path_factory):
    directory = tmp_path_factory.mktemp("written") / "release"
    release.write(directory, text_forms=["csv"])
    return directory


def published(directory):
    return pq.read_table(directory / "records.parquet")


def test_the_files_are_these_and_no_others(written, release, tmp_path):
    assert {path.name for path in written.iterdir()} == {
        "records.parquet",
        "taxonomy.parquet",
        "manifest.json",
        "report.html",
        "records.csv",
    }
    release.write(tmp_path / "plain")
    assert {path.name for path in written.iterdir()} - {
        path.name for path in (tmp_path / "plain").iterdir()
    } == {"records.csv"}


def test_the_records_have_the_columns_of_the_design_and_no_notes(written, release):
    schema = pq.read_schema(written / "records.parquet")
    assert schema.names == ["items", "exact", "counts"]
    assert schema.field("items").type == pa.list_(pa.string())
    assert schema.field("exact").type == pa.list_(pa.bool_())
    assert schema.field("counts").type == pa.list_(pa.int32())
    assert schema.metadata is None
    assert published(written).equals(release.table())


def test_the_taxonomy_is_what_is_published_and_all_above_it(written):
    rows = {
        (row["label"], row["exact"]): row for row in pq.read_table(written / "taxonomy.parquet").to_pylist()
    }
    table = published(written).to_pydict()
    labels = {
        label for row in zip(table["items"], table["exact"], strict=True) for label in zip(*row, strict=True)
    }
    static = reference.Tree(CHILDREN)
    above = {(node, False) for item, exact in labels for node in static.path[item][: -1 if exact else None]}
    own = {(item, False) for item, exact in labels if exact and item in CHILDREN}  # above its own word
    assert set(rows) == labels | above | own
    for (label, exact), row in rows.items():
        path = [*static.path[label], *([label] if exact and label in CHILDREN else [])]
        assert row["parent"] == (path[-2] if len(path) > 1 else None)
        assert row["level"] == len(path)
        assert row["leaves"] == (1 if exact else static.leaves[label])


def test_nobody_who_is_alone_shows(written):
    for path in written.iterdir():
        assert b"apple" not in path.read_bytes().replace(library().encode(), b"")
    assert "apple" not in str(published(written).to_pydict())


def test_the_manifest_tells_method_parameters_claim_counts_losses_and_account(written, release):
    manifest = json.loads((written / "manifest.json").read_text())
    assert manifest["method"] == "partition"
    assert manifest["parameters"] | {"k": K, "seed": 0, "publish": "bag"} == manifest["parameters"]
    assert manifest["claim"]["k"] == K
    assert manifest["claim"]["in_words"] == release.claim.in_words
    assert manifest["claim"]["not_promised"]
    rows = published(written)["items"].to_pylist()
    assert release.counts.records_in == len(ROWS)
    assert manifest["counts"]["records_out"] == len(rows)
    assert manifest["counts"]["withheld"] == "fewer than 3"
    assert manifest["counts"]["labels"] == len(release.digest.rows_with)
    assert manifest["losses"]["ncp"] == round(release.losses.ncp, 4)
    assert "ggd" not in manifest["losses"]  # with a share it would tell how many items there were
    assert manifest["versions"] == {"incrowd": ic.__version__, "pyarrow": pa.__version__}
    assert [step.split(".")[0] for step in manifest["account"]] == [
        str(n) for n in range(1, len(manifest["account"]) + 1)
    ]


class Page(HTMLParser):
    """Collects a page's text, its tags, and what it would load from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes if name in ATTRIBUTES_THAT_LOAD]

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_whole_safe_and_loads_nothing(written, release):
    page = Page((written / "report.html").read_text(encoding="utf-8"))
    text = " ".join(page.words)
    assert {"html", "title", "table"} <= set(page.tags)
    assert not {"iframe", "link", "img"} & set(page.tags)
    assert page.tags.count("script") == 2  # the library and what it draws
    assert [target for target in page.loads if not target.startswith("#")] == []
    assert release.claim.in_words in text
    assert "<script>alert(1)</script>" in text  # a published label, shown and not run


@pytest.mark.parametrize("force", [False, True])
def test_what_appears_while_it_is_written_stays(release, tmp_path, force):
    out = tmp_path / "release"

    def appear(step):
        if step == "audit":
            out.mkdir(exist_ok=True)
            (out / "thesis.tex").write_text("years of work")

    with pytest.raises(ic.BadInputError, match="meanwhile"):
        release.write(out, step=appear, force=force)
    assert {path.name for path in out.iterdir()} == {"thesis.tex"}
    assert {path.name for path in tmp_path.iterdir()} == {"release"}


def test_a_private_map_tells_each_owner_s_row_and_survives_no_failure(release, tmp_path):
    release.write(tmp_path / "release", private_map=tmp_path / "map")
    table = pq.read_table(tmp_path / "map")
    assert table.schema.names == ["owner", "row"]
    assert table.schema.field("row").type == pa.int64()
    owners = [str(n + 1) for n, row in enumerate(ROWS) if row]
    assert sorted(table["owner"].to_pylist()) == sorted(owners)
    assert sorted(table["row"].to_pylist()) == list(range(len(owners)))
    assert (tmp_path / "map").stat().st_mode & 0o777 == 0o600


def test_a_release_that_fails_its_audit_is_not_published(release, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.release.publication.audit", fail)
    with pytest.raises(ic.ClaimError, match="nothing was published"):
        release.write(tmp_path / "release", private_map=tmp_path / "map")
    assert list(tmp_path.iterdir()) == []


def fail(directory, originals=None, **_):
    result = ic.audit(directory)
    assert originals is not None  # a release is always held against its originals
    result.add_problem("it is Monday")
    return result


def test_an_untrue_release_is_caught_when_it_is_written(release, tmp_path):
    untrue = ic.anonymize(ic.Transactions.from_rows(ROWS), release.taxonomy, k=K, method="flock")
    filled = untrue.classes.of_row >= 0
    untrue.classes.of_row[filled] = untrue.classes.of_row[filled][
        ::-1
    ].copy()  # everybody's record is another's
    with pytest.raises(ic.ClaimError, match="does not generalize"):
        untrue.write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []
