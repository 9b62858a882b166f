"""What one person typed never leaves: the whole release, the output and the rejects are searched for it."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import AOL_HEADER, aol_line, call

K = 4
USER = "uid7700-"  # how all others' ids begin
HOLDER = "90210557"  # whose secrets they are
ADDRESS, NAME, SURNAME, NUMBER = "quagglewick", "ottoline", "farquharmoor", "5582077146"
OWN = "qzx"  # in a word that everybody has alone; they are spread over the whole alphabet
SECRETS = (ADDRESS, NAME, SURNAME, NUMBER, HOLDER, OWN)
SECRET_QUERIES = [
    f"17 {ADDRESS} lane",
    f"{NAME} {SURNAME}",
    f"{NUMBER}",
    f"{NAME}@{SURNAME}.example",
    f"www.{SURNAME}.example {ADDRESS} dogs",
]
SHARED = "mallowby hotel"  # typed by many
WORDS = ["dogs", "cats", "beer", "wine", "bread", "milk", "hotel", "flight"]
WORDS += ["guitar", "piano", "rain", "snow", "cancer", "flu", "zorblax", "quuxify"]


def scan(directory):
    """Yield every piece of text and every run of bytes that the files of a directory hold."""
    for path in sorted(directory.rglob("*")):
        yield path.name.encode()
        if path.is_file():
            yield path.read_bytes()
            if path.suffix == ".parquet":
                yield from (str(piece).encode() for piece in parquet_pieces(path))


def parquet_pieces(path):
    """Yield what a Parquet file holds behind its compression: values, dictionaries, statistics, notes."""
    file = pq.ParquetFile(path)
    strings = [
        file.schema.column(i).path
        for i in range(len(file.schema))
        if file.schema.column(i).physical_type == "BYTE_ARRAY"
    ]
    yield file.read().to_pylist()
    for column in pq.read_table(path, read_dictionary=strings).columns:
        for chunk in column.chunks:
            values = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
            yield values.dictionary.to_pylist() if pa.types.is_dictionary(values.type) else ""
    yield file.metadata.metadata
    yield file.schema_arrow.metadata
    yield [(field.name, field.metadata) for field in file.schema_arrow]
    for group in range(file.metadata.num_row_groups):
        for number in range(file.metadata.num_columns):
            statistics = file.metadata.row_group(group).column(number).statistics
            yield statistics and (statistics.min, statistics.max)


def found(words, *places):
    """Return the words that occur somewhere, in any case."""
    pieces = [piece.lower() for place in places for piece in place]
    return {word for word in words if any(word.lower().encode() in piece for piece in pieces)}


def users():
    """Return what each user asks: common things, shared things, and one user's secrets."""
    chance = random.Random(7)
    events = {f"{USER}{n:02}": [" ".join(chance.sample(WORDS, 2)) for _ in range(3)] for n in range(40)}
    for n, queries in enumerate(events.values()):
        queries.append(f"{chr(97 + n % 26)}{OWN}{n}")
    events |= {f"{USER}{n + 50}": [SHARED] for n in range(3 * K)}
    events[HOLDER] = [*SECRET_QUERIES, "dogs cats", SHARED]
    return events


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log with secrets in it, some bad lines that quote them too, and two sessions a user."""
    path = tmp_path_factory.mktemp("log") / "log.tsv"
    lines = [
        aol_line(user, query, f"2006-03-0{1 + n % 2} 10:0{n % 10}:00")
        for user, queries in users().items()
        for n, query in enumerate(queries)
    ]
    random.Random(3).shuffle(lines)
    clicked = f"{HOLDER}\tdogs\t2006-03-01 10:00:00\t1\thttp://{ADDRESS}.example\n"
    bad = f"{HOLDER}\t{NAME} {SURNAME}\tnever\t\t\n{NUMBER}\n"
    path.write_text(AOL_HEADER + "".join(lines) + clicked + bad, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def baskets(tmp_path_factory):
    path = tmp_path_factory.mktemp("baskets") / "baskets.dat"
    rows = [" ".join(query.replace(" ", "_") for query in queries) for queries in users().values()]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def vocabulary(items):
    queries = {query for events in users().values() for query in events}
    if items == "raw":
        return {query.replace(" ", "_") for query in queries}
    return queries if items == "queries" else {word for query in queries for word in query.split()}


def taxonomy_file(form, items, *, complete):
    """Return a taxonomy of a log's items; a complete one, as made from the data, lists the secrets too."""
    listed = sorted(
        item for item in vocabulary(items) if complete or not any(secret in item for secret in SECRETS)
    )
    rows = [(item, f"branch {n % 5}") for n, item in enumerate(listed)]
    if form == "rows":
        return "".join(f"{item};{branch};*\n" for item, branch in rows)
    if form == "paths":
        return "".join(f"Top/{branch}/{item.replace('/', '|')}\n" for item, branch in rows)
    branches = "".join(f"branch {n}\tall\n" for n in range(5))
    return branches + "".join(f"{item}\t{branch}\n" for item, branch in rows)


def runs():
    """Return every kind of run: taxonomy, items, and what else makes a difference."""
    plain = [
        pytest.param(items, taxonomy, extra, id="-".join([items, taxonomy, *extra]).replace("--", ""))
        for items in ("nouns", "terms", "queries")
        for taxonomy in ("wordnet", "balanced:5", "child-parent", "paths", "rows")
        for extra in ([],)
    ]
    more = [
        ("nouns", "wordnet", ["--unlisted", "drop"]),
        ("nouns", "wordnet", ["--unit", "session:30m"]),
        ("nouns", "wordnet", ["--method", "partition", "--set", "publish=bag"]),
        ("nouns", "wordnet", ["--sets"]),
        ("terms", "rows", ["--unlisted", "drop"]),
        ("terms", "complete rows", []),
        ("terms", "complete child-parent", ["--method", "partition", "--set", "publish=bag"]),
        ("queries", "complete paths", []),
        ("queries", "balanced:5", ["--unit", "session:30m", "--method", "partition", "--set", "publish=bag"]),
        ("queries", "balanced:2", ["--method", "partition", "--set", "publish=bag"]),
        ("raw", "balanced:5", []),
        ("raw", "balanced:5", ["--method", "partition", "--set", "publish=bag"]),
        ("raw", "rows", ["--unlisted", "keep"]),
        ("raw", "complete child-parent", []),
    ]
    return plain + [
        pytest.param(*run, id="-".join([run[0], run[1], *run[2]]).replace("--", "")) for run in more
    ]


@pytest.fixture
def publish(log, baskets, tmp_path):
    """Run the program on the log with the secrets; return what it wrote and said."""

    def run(items, taxonomy, extra):
        *complete, form = taxonomy.split(" ")
        if form in ("child-parent", "paths", "rows"):
            path = tmp_path / "taxonomy.txt"
            path.write_text(taxonomy_file(form, items, complete=bool(complete)), encoding="utf-8")
            form = str(path)
            extra = extra if "--unlisted" in extra else [*extra, "--unlisted", "keep"]
        public = tmp_path / "public"
        public.mkdir()
        source = baskets if items == "raw" else log
        command = [
            "anonymize",
            "--method=flock",
            source,
            "--out",
            public / "release",
            "--k",
            K,
            "--items",
            items,
        ]
        command += ["--taxonomy", form, "--write", "jsonl,csv,dat", "--private-map", tmp_path / "map", *extra]
        ran = call(*command)
        assert ran.code == 0, ran.err
        audited = call("audit", public / "release", "--original", source, "--private-map", tmp_path / "map")
        assert audited.code == 0, audited.out + audited.err
        shown = call("show", public / "release")
        said = [ran.out, ran.err, audited.out, audited.err, shown.out, shown.err]
        again = call(*command, "--json", "--force")
        return public, [text.encode() for text in [*said, again.out, again.err]]

    return run


@pytest.mark.parametrize(("items", "taxonomy", "extra"), runs())
def test_no_secret_leaves(publish, log, items, taxonomy, extra):
    public, said = publish(items, taxonomy, extra)
    assert found(SECRETS, scan(public), said) == set()
    assert found([USER, str(log.parents[1])], scan(public)) == set()  # nor where it was made
    expected = {"release"} if items == "raw" else {"release", "rejects.jsonl"}
    assert {path.name for path in public.iterdir()} - {"rejects-2.jsonl"} == expected


@pytest.mark.parametrize(
    ("items", "taxonomy"), [("queries", "balanced:5"), ("queries", "complete rows"), ("raw", "balanced:5")]
)
def test_what_many_typed_does_leave_so_the_search_can_find(publish, items, taxonomy):
    public, _ = publish(items, taxonomy, [])
    shared = SHARED.replace(" ", "_") if items == "raw" else SHARED
    for name in ("records.parquet", "taxonomy.parquet", "records.csv", "records.jsonl", "report.html"):
        only = public / "only" / name
        only.mkdir(parents=True)
        (public / "release" / name).rename(only / name)
        assert found([shared], scan(only)) == {shared}


def test_with_too_few_people_the_shared_query_stays_too(log, tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    ran = call(
        "anonymize",
        "--method=flock",
        log,
        "--out",
        public / "release",
        "--k",
        3 * K + 2,
        "--items",
        "queries",
    )
    assert ran.code == 0
    assert found([SHARED], scan(public), [ran.out.encode()]) == set()


@pytest.mark.parametrize("place", ["value", "unused", "statistics", "notes", "field", "name"])
def test_the_search_looks_everywhere(tmp_path, place):
    values = pa.array(["dog", NAME if place == "value" else "cat"] * 50)
    if place == "unused":
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50), pa.array(["dog", "cat", NAME]))
    field = pa.field("items", values.type, metadata={"who": NAME} if place == "field" else None)
    schema = pa.schema([field], metadata={"who": NAME} if place == "notes" else None)
    table = pa.table([values], schema=schema)
    if place == "statistics":
        table = pa.table({"items": pa.array(["dog"] * 50 + [NAME])})
    pq.write_table(table, tmp_path / (f"{NAME}.parquet" if place == "name" else "x.parquet"))
    assert found([NAME, SURNAME], scan(tmp_path)) == {NAME}


def test_a_failed_run_says_no_secret(log, tmp_path):
    taxonomy = tmp_path / "taxonomy.txt"
    taxonomy.write_text(taxonomy_file("rows", "terms", complete=False), encoding="utf-8")
    public = tmp_path / "public"
    public.mkdir()
    for options in (
        ["--taxonomy", taxonomy, "--items", "terms"],
        ["--k", 10_000],
        ["--columns", "user=Query,query=nothing"],
        ["--format", "jsonl"],
        ["--format", "excite"],
    ):
        ran = call("anonymize", "--method=flock", log, "--out", public / "release", "--k", K, *options)
        assert ran.code == 2
        assert found(SECRETS, [ran.out.encode(), ran.err.encode()], scan(public)) == set()
