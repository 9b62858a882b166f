"""Files as they come: what each kind of input is read as, and what each mistake is answered with."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import AOL_HEADER, aol_log, call, command, refused
from incrowd.logs import read_log

USERS = [f"u{number}" for number in range(20)]
ISO = "2006-03-31 23:59:59"
SECONDS = 1143849599
SECRET = "mirabel"


def table(sep, time, header="user_id{0}query{0}time\n", users=USERS):
    rows = (f"{user}{sep}dog food{sep}{time}\n" for user in users)
    return header.format(sep) + "".join(rows)


def access_line(user, target, referer=' "-" "Mozilla/5.0 (X11; \\"odd\\")"'):
    return f'{user} - - [31/Mar/2006:23:59:59 +0000] "GET {target} HTTP/1.1" 200 12{referer}\n'


def zipped(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return packed.getvalue()


def parquet(time):
    packed = io.BytesIO()
    rows = {"User ID": USERS, "query": ["dog food"] * len(USERS), "time": [time] * len(USERS)}
    pq.write_table(pa.table(rows), packed)
    return packed.getvalue()


OBJECTS = [{"user": user, "q": 'dog "food" {[', "time": ISO} for user in USERS]
SOGOU_OLD = "".join(f"23:59:59\t29821990737{number:04}\t[搜索 食物]\t8 3\tx.cn/a\n" for number in range(20))
SOGOU_NEW = "".join(
    f"20060331235959\t57375476989{number:04}\t搜索 食物\t1\t1\thttp://x.cn/\n" for number in range(20)
)
HALF = len(USERS) // 2

# What is written to which files; the options; the format that is found, a query of the log, and the time of its events.
WORKS = {
    "aol": ({"log.tsv": AOL_HEADER + "".join(f"{u}\tdog food\t{ISO}\t\t\n" for u in USERS)}, [], "aol"),
    "excite": ({"log": "".join(f"{u}\t060331235959\tdog food\n" for u in USERS)}, [], "excite"),
    "csv": ({"log.csv": table(",", ISO)}, [], "csv"),
    "tsv with other spelling": ({"log": table("\t", ISO, "User ID{0}QUERY{0}Query-Time\n")}, [], "tsv"),
    "columns with other spelling": (
        {"log.csv": table(",", ISO, "Cus tomer{0}Q-text{0}at\n")},
        ["--columns", "user=customer,query=q_text,time=At"],
        "csv",
    ),
    "columns by number": (
        {"log.txt": table("\t", ISO, "")},
        ["--columns", "user=1,query=2,time=3"],
        "tsv",
    ),
    "columns by number, and commas in queries": (
        {"log.txt": table("\t", ISO, "").replace("dog food", "dog, food")},
        ["--columns", "user=1,query=2,time=3"],
        "tsv",
    ),
    "columns by number of csv, which has a header": (
        {"log.csv": table(",", ISO)},
        ["--columns", "user=1,query=2,time=3"],
        "csv",
    ),
    "delimiter by name": ({"log.txt": table("|", ISO)}, ["--delimiter", "pipe"], "csv"),
    "delimiter as a character": ({"log.txt": table("^", ISO)}, ["--delimiter", "^"], "csv"),
    "json lines": ({"log": "".join(json.dumps(row) + "\n" for row in OBJECTS)}, [], "jsonl"),
    "a json array": ({"log.json": json.dumps(OBJECTS)}, [], "json"),
    "a json array, pretty-printed": ({"log.json": "\ufeff" + json.dumps(OBJECTS, indent=2)}, [], "json"),
    "parquet with times as text": ({"log.parquet": parquet("3/31/2006 11:59:59 PM")}, [], "parquet"),
    "an access log of searches": (
        {"access.log": "".join(access_line(u, "/find?lang=en&q=dog+fo%6fd&page=2") for u in USERS)},
        [],
        "apache",
    ),
    "an access log of pages": (
        {"access.log": "".join(access_line(u, "/dog%20food?session=7", "") for u in USERS)},
        [],
        "apache",
    ),
    "sogou by the time of day": ({"log": SOGOU_OLD.encode("gbk")}, ["--day", "2006-03-31"], "sogou"),
    "sogou by the whole time": ({"log": SOGOU_NEW.encode("gb18030")}, [], "sogou"),
    "sogou in utf-8": ({"log": SOGOU_NEW}, [], "sogou"),
    "gbk": ({"log.csv": table(",", ISO).replace("food", "食物").encode("gbk")}, ["--encoding", "gbk"], "csv"),
    "utf-16": ({"log.tsv": table("\t", ISO).encode("utf-16")}, ["--encoding", "utf-16"], "tsv"),
    "latin-1": ({"log.jsonl": "".join(json.dumps({**row, "q": "dög"}, ensure_ascii=False) + "\n" for row in OBJECTS).encode("latin-1")}, ["--encoding", "latin-1"], "jsonl"),
    "a json array in utf-16": ({"log": json.dumps(OBJECTS).encode("utf-16")}, ["--encoding", "utf-16"], "json"),
    "an access log in latin-1": ({"log": "".join(access_line(u, "/dög") for u in USERS).encode("latin-1")}, ["--encoding", "latin-1"], "apache"),
    "iso with fraction and zone": ({"log.csv": table(",", "2006-04-01T01:59:59.25+02:00")}, [], "csv"),
    "us times": ({"log.csv": table(",", "3/31/2006 11:59:59 PM")}, [], "csv"),
    "german times": ({"log.csv": table(";", "31.03.2006 23:59:59")}, [], "csv"),
    "day first": ({"log.csv": table(",", "31/03/2006 23:59:59")}, [], "csv"),
    "apache's times": ({"log.csv": table(",", "[31/Mar/2006:16:59:59 -0700]")}, [], "csv"),
    "seconds": ({"log.csv": table(",", SECONDS)}, [], "csv"),
    "milliseconds": ({"log.csv": table(",", SECONDS * 1000 + 7)}, [], "csv"),
    "a date alone": ({"log.csv": table(",", "2006-03-31")}, [], "csv"),
    "time of day": ({"log.csv": table(",", "11:59:59 pm")}, ["--day", "2006-03-31"], "csv"),
    "a time format": ({"log.csv": table(",", "Fri 31 March 06 235959")}, ["--time-format", "%a %d %B %y %H%M%S"], "csv"),
    "dates that only a later part decides": (
        {"a.csv": table(",", "03/03/2006 00:00"), "b.csv": table(",", "3/31/2006 23:59:59")},
        [],
        "csv",
    ),
    "several files, each with a header": (
        {"a.csv": table(",", ISO, users=USERS[:HALF]), "b.csv": table(",", ISO, users=USERS[HALF:])},
        [],
        "csv",
    ),
    "parts that are compressed in different ways": (
        {"a.csv.gz": gzip.compress(table(",", ISO, users=USERS[:HALF]).encode()), "b.csv": table(",", ISO, users=USERS[HALF:])},
        [],
        "csv",
    ),
    "an archive with two parts": (
        {"logs.zip": zipped(a__csv=table(",", ISO, users=USERS[:HALF]), b__csv=table(",", ISO, users=USERS[HALF:]), __DS_Store="x")},
        [],
        "csv",
    ),
}  # fmt: skip


def put(directory, files):
    directory.mkdir(exist_ok=True)
    for name, content in files.items():
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [directory / name for name in files]


def options_of(arguments):
    """Return options of the command line as `read_log` takes them."""
    pairs = dict(zip(arguments[::2], arguments[1::2], strict=True))
    said = {name.removeprefix("--").replace("-", "_"): value for name, value in pairs.items()}
    if "columns" in said:
        said["columns"] = dict(part.split("=") for part in said["columns"].split(","))
    return said


@pytest.mark.parametrize("name", WORKS)
def test_inputs_that_can_be_read(tmp_path, name):
    files, options, format_name = WORKS[name]
    paths = put(tmp_path / "logs", files)
    with read_log(paths, **options_of(options)) as log:
        events = log.store.table('SELECT DISTINCT "user", time, query FROM events').to_pylist()
        assert (log.format, dict(log.rejected)) == (format_name, {})
    assert len({event["user"] for event in events}) == len(USERS)
    queries = {event["query"] for event in events}
    assert queries <= {
        "dog food",
        "dog, food",
        "dog 食物",
        "dög",
        "/dog food",
        "/dög",
        "搜索 食物",
        'dog "food" {[',
    }
    assert len(queries) == 1
    assert SECONDS - 86_399 <= max(event["time"] for event in events) <= SECONDS


LOG = table(",", ISO)
REFUSED = {
    "a file that is not there": ({}, ["no.csv"], "does not exist"),
    "a pattern that fits nothing": ({}, ["*.csv"], "fits no file"),
    "a folder without files": ({}, ["."], "directory without a file to read"),
    "a file twice": ({"a.csv": LOG}, ["a.csv", "./a.csv"], "given twice: name each file once"),
    "a file in a folder that is given too": ({"a.csv": LOG}, ["a.csv", "."], "given twice"),
    "another format": (
        {"a.csv": LOG, "b.jsonl": '{"user": "mirabel", "q": "x", "time": 1}\n'},
        ["a.csv", "b.jsonl"],
        "b.jsonl is written as jsonl, and a.csv as csv",
    ),
    "a part without times": (
        {"a.csv": LOG, "b.csv": "user,query\nmirabel,x\n"},
        ["."],
        "b.csv and a.csv do not both have a column for: time",
    ),
    "a part without a header": (
        {"a.csv": LOG, "b.csv": f"mirabel,x,{ISO}\n"},
        ["."],
        "b.csv seems to have no header line",
    ),
    "a part whose times are written otherwise": (
        {"a.csv": LOG, "b.csv": table(",", "mirabel 7")},
        ["."],
        "times of b.csv are written in no way that incrowd knows, the first has the shape 'aaaa 9': say how (--time-format",
    ),
    "unknown times": ({"a.csv": table(",", "31-03-2006")}, ["a.csv"], "shape '99-99-9999'"),
    "a time format that does not fit": (
        {"a.csv": LOG},
        ["a.csv", "--time-format", "%d/%m/%Y"],
        "correct --time-format",
    ),
    "a time format with an unknown part": ({"a.csv": LOG}, ["a.csv", "--time-format", "%Q"], "has %Q"),
    "month or day": ({"a.csv": table(",", "03/04/2006")}, ["a.csv"], "month or with the day: say which (--time-format"),
    "time of day without a day": ({"a.csv": table(",", "10:00:00")}, ["a.csv"], "(--day 2006-03-31)"),
    "a day that is not needed": ({"a.csv": LOG}, ["a.csv", "--day", "2006-03-31"], "drop --day"),
    "a day of a log that has dates": (
        {"a.log": "mirabel\t970916001949\tx\n"},
        ["a.log", "--day", "2006-03-31"],
        "drop --day",
    ),
    "nothing as a delimiter": ({"a.csv": LOG}, ["a.csv", "--delimiter", ""], "must be one ASCII character"),
    "a day that is none": ({"a.csv": LOG}, ["a.csv", "--day", "2006-02-31"], "--day must be a date"),
    "a time format without times": (
        {"a.csv": "user,query\nmirabel,x\n"},
        ["a.csv", "--time-format", "%H:%M"],
        "--columns time=NAME",
    ),
    "a spreadsheet": ({"a.xlsx": b"PK\x03\x04mirabel"}, ["a.xlsx"], "save it as CSV"),
    "a spreadsheet under another name": (
        {"a.csv": zipped(**{"[Content_Types]__xml": "mirabel"})},
        ["a.csv"],
        "save it as CSV",
    ),
    "a damaged archive": ({"a.zip": zipped(a__csv=LOG)[:-30]}, ["a.zip"], "damaged archive"),
    "an archive of nothing": ({"a.zip": zipped()}, ["a.zip"], "archive without a file"),
    "parquet in an archive": ({"a.zip": zipped(a__parquet=parquet(ISO))}, ["a.zip"], "unpack it first"),
    "an address": ({}, ["https://example.org/log.csv"], "fetch the file first (curl -O)"),
    "an address of a store": ({}, ["s3://bucket/log.csv"], "aws s3 cp"),
    "standard input twice": ({}, ["-", "-"], "standard input can be read once"),
    "a delimiter of two characters": ({"a.csv": LOG}, ["a.csv", "--delimiter", "||"], "must be one ASCII character"),
    "a delimiter of what has none": (
        {"a.jsonl": "{}"},
        ["a.jsonl", "--format", "jsonl", "--delimiter", "tab"],
        "for formats csv and tsv",
    ),
    "a number of no column": (
        {"a.csv": table(",", ISO, "")},
        ["a.csv", "--columns", "user=1,query=9"],
        "has 3 columns, and none of number 9",
    ),
    "a number without a user": (
        {"a.csv": table(",", ISO, "")},
        ["a.csv", "--columns", "query=2"],
        "no number for the user",
    ),
    "a json array that does not end": (
        {"a.json": json.dumps(OBJECTS)[:-1]},
        ["a.json"],
        "does not end after record 20",
    ),
    "json lines that are none": ({"a.csv": LOG}, ["a.csv", "--format", "json"], "no JSON object as an array"),
    "another encoding": (
        {"a.csv": table(",", ISO).replace("food", "食物").encode("gbk")},
        ["a.csv"],
        "a.csv is not UTF-8",
    ),
    "baskets with times": ({"a.dat": "1 2\n"}, ["a.dat", "--day", "2006-03-31"], "format dat: it has none"),
    "a damaged part": (
        {"a.csv": LOG, "b.csv.gz": gzip.compress(LOG.encode() * 9)[:-40]},
        ["."],
        "b.csv.gz is damaged or cut short after line",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_answered_with_the_remedy(tmp_path, monkeypatch, name):
    files, arguments, said = REFUSED[name]
    put(tmp_path / "logs", files)
    monkeypatch.chdir(tmp_path / "logs")
    out = tmp_path / "release"
    ran = call("anonymize", *arguments, "--k", 2, "--out", out)
    line = refused(ran, out)
    assert said in line
    assert SECRET not in line
    assert {path.name for path in tmp_path.rglob("*")} == {"logs", *files}


def test_parts_are_published_as_the_whole_is(tmp_path):
    rows = {user: ["dog food", "cats", f"zebra {user % 2}"] for user in range(100, 140)}
    whole = aol_log(tmp_path / "whole.tsv", rows)
    users = list(rows)
    for number, name in enumerate(["c.tsv", "a.tsv", "b.tsv"]):
        aol_log(tmp_path / name, {user: rows[user] for user in users[number::3]})
    outs = [tmp_path / "one", tmp_path / "three"]
    inputs = [[whole], [tmp_path / f"{name}.tsv" for name in "cba"]]
    for out, given in zip(outs, inputs, strict=True):
        assert call("anonymize", *given, "--k", 2, "--seed", 1, "--out", out).code == 0
    assert (outs[0] / "tiles.parquet").read_bytes() == (outs[1] / "tiles.parquet").read_bytes()


def test_rejects_name_the_part_and_its_line(tmp_path):
    for name in ("a", "b"):
        path = aol_log(tmp_path / f"{name}.tsv")
        path.write_text(path.read_text(encoding="utf-8") + f"{name}\ty\n", encoding="utf-8")
    out = tmp_path / "release"
    ran = call("anonymize", "--method=flock", tmp_path / "*.tsv", "--k", 2, "--out", out, "--json")
    assert ran.code == 0, ran.err
    listed = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [(row["file"], row["line"]) for row in listed] == [("a.tsv", 62), ("b.tsv", 62)]


def test_standard_input_is_read_like_a_file(tmp_path, log, monkeypatch):
    outs = [tmp_path / "file", tmp_path / "stdin"]
    assert call("anonymize", "--method=flock", log, "--k", 2, "--out", outs[0]).code == 0
    packed = io.TextIOWrapper(io.BytesIO(gzip.compress(log.read_bytes())))
    monkeypatch.setattr(sys, "stdin", packed)
    ran = call("anonymize", "--method=flock", "-", "--k", 2, "--out", outs[1])
    assert ran.code == 0, ran.err
    assert (outs[0] / "records.parquet").read_bytes() == (outs[1] / "records.parquet").read_bytes()


def test_nothing_on_standard_input(tmp_path):
    ran = command("anonymize", "-", "--k", 2, "--out", tmp_path / "release", input="")
    assert "stdin is empty" in refused(ran, tmp_path / "release")


def test_the_audit_reads_the_originals_as_they_were_read(tmp_path):
    texts = [f"u{user}|dog food|31-03-2006 10:00\n" for user in range(40)]
    put(tmp_path / "logs", {"a.txt": "".join(texts[:20]), "b.txt": "".join(texts[20:])})
    paths = [tmp_path / "logs" / "a.txt", tmp_path / "logs" / "b.txt"]
    how = ["--delimiter", "pipe", "--columns", "user=1,query=2,time=3", "--time-format", "%d-%m-%Y %H:%M"]
    out, private = tmp_path / "release", tmp_path / "map"
    ran = call("anonymize", "--method=flock", *paths, *how, "--k", 2, "--out", out, "--private-map", private)
    assert ran.code == 0, ran.err
    given = ["--original", paths[0], "--original", paths[1], "--private-map", private, "--json"]
    trusted = call("audit", out, *given)
    assert trusted.code == 0, trusted.out
    assert [
        text.partition("confirm with ")[2].split()[0]
        for text in trusted.json["unchecked"]
        if "confirm with" in text
    ] == [
        "--columns",
        "--delimiter",
        "--time-format",
    ]
    confirmed = call("audit", out, *given, *how)
    assert confirmed.code == 0
    assert not [text for text in confirmed.json["unchecked"] if "confirm with" in text]
    half = call("audit", out, "--original", paths[0], "--private-map", private, "--json")
    assert half.code == 1


def test_baskets_of_several_parts_are_told_apart(tmp_path):
    for name, bread in (("a.dat", 10), ("b.dat", 8)):
        text = "milk bread\n" * bread + "milk beer\n" * (20 - bread)
        (tmp_path / name).write_text(text, encoding="utf-8")
    out, private = tmp_path / "release", tmp_path / "map"
    ran = call("anonymize", tmp_path, "--k", 2, "--out", out, "--private-map", private)
    assert ran.code == 0, ran.err
    owners = set(pq.read_table(private)["owner"].to_pylist())
    assert owners == {f"{name}:{line}" for name in ("a.dat", "b.dat") for line in range(1, 21)}
    originals = ["--original", tmp_path / "a.dat", "--original", tmp_path / "b.dat"]
    assert call("audit", out, *originals, "--private-map", private).code == 0


def test_a_comparison_of_a_folder(tmp_path):
    aol_log(put(tmp_path / "logs", {"a.tsv": ""})[0])
    ran = call(
        "compare", tmp_path / "logs", "--methods", "flock", "--k", 2, "--out", tmp_path / "out", "--json"
    )
    assert ran.code == 0, ran.err
    assert ran.json["data"] == "a.tsv"
