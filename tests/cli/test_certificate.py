"""The certificate and the dictionary: written with an audited release or not at all, and nothing in them that the release does not say."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import subprocess

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from attacks.made_up import after_side
from browser import BROWSERS, NO_BROWSER, opened
from cli.helpers import call, only_line, refused, visible
from incrowd.attacks.shown import certificate_rows
from incrowd.core.promises import KINDS, Common
from incrowd.release.certificate import certificate_page
from incrowd.release.files.dictionary import PARAMETERS, unit_in_words

WORDS = ["hardwood floors", "high school", "high school reunion", "pottery barn", "hardwood sale"]
DAY = 86_400
HOSTILE = "Searches <script>alert(1)</script>"
OPTIONS = ("--k", 3, "--seed", 5, "--write", "csv,jsonl", "--unit", "mini-session:5/10m", "--items", "terms")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Sixty people on three days, and one more who is alone on the day before and the day after."""
    directory = tmp_path_factory.mktemp("certificate")
    lines = [
        f"p{person},{DAY * (30 + day) + 60 * person},{WORDS[(person + day) % 5]}"
        for person in range(60)
        for day in range(3)
    ]
    lines += [f"p7,{DAY * day + 5},zyzzyva" for day in (3, 77)]
    (directory / "log.csv").write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    return directory


@pytest.fixture(scope="module", params=["mosaic", "rounded", "flock"])
def made(request, place, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param) / "R"
    method = ("--method", "flock" if request.param == "flock" else "mosaic")
    rounded = ("--set", "counts=rounded") if request.param == "rounded" else ()
    ran = call(
        *("anonymize", place / "log.csv", "--out", out, *OPTIONS, *method, *rounded, "--certificate"),
        *("--title", HOSTILE, "--date", "2026-07-01", "--private-map", out.with_name("map"), "--json"),
    )
    assert ran.code == 0, ran.err
    return out, ran.json


def page_of(out, kind="certificate"):
    return out.with_name(f"{out.name}.{kind}.html").read_text(encoding="utf-8")


def text_of(page):
    """Return what a reader sees."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


def test_it_says_what_is_promised_and_what_was_checked(made):
    out, said = made
    assert said["certificate"] == f"{out}.certificate.html"
    text = " ".join(text_of(page_of(out)).split())
    assert said["claim"]["in_words"] in text
    assert all(line in text for line in said["claim"]["not_promised"])
    assert "The audit confirms this promise" in text
    assert "2026-07-01" in text
    assert HOSTILE in text
    assert "<script>" not in page_of(out) + page_of(out, "dictionary")
    assert unit_in_words("mini-session:5/600")[1:] in text
    for file in out.iterdir():
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text


def test_it_names_days_on_which_k_people_were_active(made):
    out, _ = made
    text = text_of(page_of(out))
    assert "1970-01-31 to 1970-02-02" in text
    for alone in ("1970-01-04", "1970-03-19"):
        assert alone not in text + (out / "manifest.json").read_text(encoding="utf-8")


def numbers_in(text):
    return {number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def test_it_holds_no_number_and_no_label_that_is_not_published(made):
    out, said = made
    text = re.sub(r"\b[0-9a-f]{64}\b", "", text_of(page_of(out)))
    published = numbers_in((out / "manifest.json").read_text(encoding="utf-8"))
    spelled = {
        "256",
        "10",
        "2",
        "80",
        "07",
        "01",
        "2026",
    }  # SHA-256, 10 minutes of 600 seconds, k - 1, 80 %, the date
    assert numbers_in(text) - published - spelled == set()
    known = numbers_in(json.dumps(said["input"])) | {str(said["records_in"])}
    assert (numbers_in(text) & known) - published - spelled == set()
    (table,) = (name for name in ("tiles.parquet", "records.parquet") if (out / name).exists())
    rows = pq.read_table(out / table).to_pylist()
    labels = {item for row in rows for item, exact in zip(row["items"], row["exact"], strict=True) if exact}
    words = set(re.findall(r"[a-z]+", text + text_of(page_of(out, "dictionary"))))
    assert labels
    assert not words & {*labels, "zyzzyva"}


def test_the_dictionary_explains_every_column_and_every_parameter(made):
    out, _ = made
    rows = re.findall(
        r"<tr><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>", page_of(out, "dictionary")
    )
    meanings = dict.fromkeys(name for name, _, meaning in rows if meaning.endswith("."))
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    columns = {name for file in out.glob("*.parquet") for name in pq.read_schema(file).names}
    for name in (*columns, *manifest["parameters"], *manifest["counts"], *manifest["use"]):
        assert name in meanings, name
    for file in manifest["files"]:
        assert f"<tr><td>{file}</td>" in page_of(out, "dictionary")


def test_every_parameter_of_every_method_has_a_sentence():
    fields = {
        *Common.__struct_fields__,
        *(name for _, own in KINDS.values() for name in own.__struct_fields__),
    }
    assert fields <= PARAMETERS.keys()


def test_it_can_be_made_again_from_the_release(made, place, tmp_path):
    out = tmp_path / "R"
    shutil.copytree(made[0], out)
    shutil.copy(made[0].with_name("map"), tmp_path / "map")
    proof = ("--original", place / "log.csv", "--private-map", tmp_path / "map")
    ran = call("certificate", out, *proof, "--json")
    assert ran.code == 0, ran.err
    assert page_of(out) == page_of(made[0])
    assert page_of(out, "dictionary") == page_of(made[0], "dictionary")
    assert "exists" in refused(call("certificate", out))
    ran = call("certificate", out, "--force")
    assert ran.code == 0, ran.err
    assert "Not everything in the promise could be recounted" in page_of(out)
    assert "private map" in text_of(page_of(out)) or "only the originals show it" in text_of(page_of(out))


def test_a_release_that_does_not_hold_gets_none(made, tmp_path):
    out = shutil.copytree(made[0], tmp_path / "R")
    (out / "report.html").write_text("other", encoding="utf-8")
    ran = call("certificate", out)
    assert ran.code == 1
    assert "no certificate was written" in only_line(ran.err)
    assert visible(tmp_path) == {"R"}


def test_nothing_is_written_if_anything_fails(place, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.release.publication.dictionary_page", lambda _: 1 / 0)
    ran = call("anonymize", place / "log.csv", "--out", tmp_path / "R", *OPTIONS, "--certificate")
    assert ran.code == 3
    assert visible(tmp_path) == set()


def test_the_pages_of_an_older_release_never_lie_beside_a_new_one(made, place, tmp_path):
    out = shutil.copytree(made[0], tmp_path / "R")
    shutil.copy(f"{made[0]}.certificate.html", f"{out}.certificate.html")
    anonymize = ("anonymize", place / "log.csv", "--out", out, *OPTIONS, "--force")
    assert "is of another release with this name: remove it, or use --certificate" in refused(
        call(*anonymize)
    )
    before = page_of(out)
    ran = call(*anonymize, "--certificate")
    assert ran.code == 0, ran.err
    assert page_of(out) != before


def test_another_file_of_that_name_is_not_replaced(place, tmp_path):
    (tmp_path / "R.dictionary.html").write_text("mine", encoding="utf-8")
    ran = call("anonymize", place / "log.csv", "--out", tmp_path / "R", *OPTIONS, "--certificate", "--force")
    assert "was not written by incrowd" in refused(ran, tmp_path / "R")
    assert visible(tmp_path) == {"R.dictionary.html"}


@pytest.mark.parametrize("method", ["korolova", "suppress"])
def test_what_no_audit_confirms_gets_no_certificate(place, tmp_path, method):
    ran = call("anonymize", place / "log.csv", "--out", tmp_path / "R", "--method", method, "--certificate")
    assert "cannot be confirmed by an audit: drop --certificate" in refused(ran, tmp_path / "R")


def test_without_it_a_release_is_as_it_was(place, tmp_path):
    for name, more in (("plain", ()), ("other", ("--certificate",))):
        assert call("anonymize", place / "log.csv", "--out", tmp_path / name, *OPTIONS, *more).code == 0
    plain, other = (
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("plain", "other")
    )
    assert "first_day" not in plain["parameters"]
    assert (tmp_path / "plain/tiles.parquet").read_bytes() == (tmp_path / "other/tiles.parquet").read_bytes()
    days = {
        "first_day": other["parameters"].pop("first_day"),
        "last_day": other["parameters"].pop("last_day"),
    }
    assert (plain, set(days.values())) == (other, {"1970-01-31", "1970-02-02"})


def test_a_forged_period_is_found(made, place, tmp_path):
    out = shutil.copytree(made[0], tmp_path / "R")
    for file in ("manifest.json", "report.html"):
        forged = (out / file).read_text(encoding="utf-8").replace("1970-01-31", "1970-01-04")
        (out / file).write_text(forged, encoding="utf-8")
    ran = call(
        *("audit", out, "--original", place / "log.csv", "--private-map", made[0].with_name("map"), "--json")
    )
    assert ran.json["problems"] == ["the manifest names other days than the originals have"]


def printed_pages(page, tmp_path):
    """Return on how many sheets a browser prints a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(NO_BROWSER)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    pdf = tmp_path / "page.pdf"
    command = [browser, *flags, f"--print-to-pdf={pdf}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=100, check=True)
    (count,) = re.findall(rb"/Count (\d+)", pdf.read_bytes())
    return int(count)


def test_it_prints_on_one_page(made, tmp_path):
    assert printed_pages(made[0].with_name("R.certificate.html"), tmp_path) == 1


def test_with_attacks_it_still_prints_on_one_page(made, tmp_path):
    out, _ = made
    rows = certificate_rows(after_side())
    text = certificate_page(out, ic.audit(out), rows)
    assert all(row.in_public in text_of(text) for row in rows)
    whole = page_of(out)  # the audit had the originals, so it checked more
    assert "What attacks found" not in whole, "nobody attacked it"
    (section,) = re.findall(r"<section>\n  <h2>What attacks found.*?</section>\n", text, re.DOTALL)
    files = "<section>\n  <h2>The files"
    assert whole.count(files) == 1
    style = text.partition("<body>")[0]
    attacked = style + "<body>" + whole.partition("<body>")[2].replace(files, section + files)
    (tmp_path / "attacked.html").write_text(attacked, encoding="utf-8")
    assert printed_pages(tmp_path / "attacked.html", tmp_path) == 1


def test_a_browser_shows_it_without_a_script(made, tmp_path):
    dom = opened(page_of(made[0]).replace("default-src 'none'", "script-src 'unsafe-inline'"), tmp_path)
    assert re.findall("<title>(probe: .*?)</title>", dom) == ["probe: nothing"]
