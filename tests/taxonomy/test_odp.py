"""The Open Directory's RDF file, on small made ones."""

from __future__ import annotations

import gzip

import pytest

from incrowd.errors import BadInputError
from incrowd.taxonomy.check import check_file
from incrowd.taxonomy.sources.odp import is_odp, parse_odp
from incrowd.text.concepts import Knowledge

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<RDF xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">
<!-- Made up -->
"""
TAIL = "</RDF>\n"
SMALL = (
    HEAD
    + """<Topic r:id="">
  <catid>1</catid>
</Topic>
<Topic r:id="Top">
  <catid>2</catid>
  <narrow r:resource="Top/Sports"></narrow>
</Topic>
<Topic r:id="Top/Sports/Water_Sports">
  <d:Title>Water_Sports</d:Title>
  <d:Description>With &lt;b&gt;water&lt;/b&gt; &amp; boards</d:Description>
</Topic>
<Alias r:id="Top/Sports:Surfing"><Target r:resource="Top/Elsewhere"/></Alias>
<Topic r:id="Top/Sports"><catid>3</catid></Topic>
<Topic r:id="Top/Arts/Caf\u00e9s_&amp;_Bars/"/>
"""
    + TAIL
).replace("Bars/", "Bars")
SHAPE = {
    "Top": None,
    "Top/Sports": "Top",
    "Top/Sports/Water_Sports": "Top/Sports",
    "Top/Arts": "Top",
    "Top/Arts/Caf\u00e9s_&_Bars": "Top/Arts",
}


@pytest.fixture
def written(tmp_path):
    def write(content: bytes | str):
        path = tmp_path / "structure.rdf.u8"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def topics(*paths: str) -> str:
    return HEAD + "".join(f'<Topic r:id="{path}"/>\n' for path in paths) + TAIL


@pytest.mark.parametrize("packed", [False, True])
def test_a_small_directory(written, packed):
    path = written(gzip.compress(SMALL.encode()) if packed else SMALL)
    assert is_odp(path)
    tree = parse_odp(path).tree()
    labels = tree.labels.to_pylist()
    assert {
        label: labels[above] if above >= 0 else None for label, above in zip(labels, tree.parent, strict=True)
    } == SHAPE
    assert tree.name == "structure.rdf.u8"
    assert "sport" in Knowledge.of(tree).words.to_pylist()


def test_a_topic_above_may_come_later_or_never(written):
    tree = parse_odp(written(topics("Top/A/B/C", "Top/A", "Top/A/B/C"))).tree()
    assert tree.labels.to_pylist() == ["Top", "Top/A", "Top/A/B", "Top/A/B/C"]
    assert tree.parent.tolist() == [-1, 0, 1, 2]


def test_items_are_found_as_in_any_file_of_paths(written):
    tree = parse_odp(written(SMALL)).tree()
    node = tree.find(tree, tree.labels.take([4]))
    assert tree.labels[int(node[0])] == tree.labels[4]


def test_a_directory_longer_than_a_block(written, monkeypatch):
    monkeypatch.setattr("incrowd.taxonomy.sources.odp.BLOCK_BYTES", 7)
    assert len(parse_odp(written(SMALL)).tree()) == len(SHAPE)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (topics("Top/A", "Top//B"), 5, "empty step"),
        (topics("Top/A", "Top/A/"), 5, "empty step"),
        (topics("Top/A", "Top/ /B"), 5, "empty step"),
        (topics("/Top/A"), 4, "empty step"),
        (topics("Top/A", "Bottom/B"), 5, "another root"),
        (topics("Top/A", "Bottom"), 5, "another root"),
        (HEAD + "<Topic>\n" + TAIL, 4, "without r:id"),
        (HEAD + '<Topic r:id="Top/A">\n<catid>1\n' + TAIL, 6, "broken XML (mismatched tag)"),
        (topics("Top/A").removesuffix(TAIL), 5, "broken XML"),
        (HEAD + "<Topic r:id=Top/>\n" + TAIL, 4, "broken XML"),
        (HEAD.encode() + b'<Topic r:id="Top/\xff"/>\n', 4, "broken XML"),
        ('<!DOCTYPE RDF [<!ENTITY a "b">]>\n' + topics("Top/A"), 1, "document type"),
        (gzip.compress(topics("Top/A").encode())[:-20], None, "compressed data"),
    ],
)
def test_a_broken_file_gets_one_line(written, content, line, problem):
    with pytest.raises(BadInputError) as caught:
        parse_odp(written(content)).tree()
    text = str(caught.value)
    assert problem in text
    assert "\n" not in text
    assert "Bottom" not in text
    if line is not None:
        assert f"structure.rdf.u8: line {line}:" in text


@pytest.mark.parametrize("content", [HEAD + TAIL, topics("")])
def test_no_topic(written, content):
    with pytest.raises(BadInputError, match="has no Topic"):
        parse_odp(written(content)).tree()


def test_no_file(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"):
        parse_odp(tmp_path / "nothing").tree()
    assert not is_odp(tmp_path / "nothing")
    assert not is_odp(tmp_path)


@pytest.mark.parametrize("content", ["Top/Arts/Film\t12\n", "", b"\x1f\x8bnot packed"])
def test_other_files_are_no_directory(written, content):
    assert not is_odp(written(content))


def test_a_check_reads_what_the_reader_reads(written):
    found = check_file(str(written(SMALL)))
    assert (found["problems"], found["shape"]["nodes"]) == ([], len(SHAPE))
