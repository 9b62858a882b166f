"""Made-up logs with the columns that search-sharing data has beside AOL's."""

from __future__ import annotations

import hashlib
import itertools
import re
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from cli.helpers import call
from incrowd.errors import BadInputError, options_as_flags
from incrowd.logs import format_of
from incrowd.logs.form import InputForm
from incrowd.logs.formats.detect import find_layout
from incrowd.logs.formats.source import Source
from incrowd.logs.synth import terms
from incrowd.logs.synth.columns import COLUMNS
from incrowd.logs.synth.generate import write_log
from incrowd.logs.synth.traits import DEVICES, LANGUAGES

USERS = 400
TOKEN = re.compile(r"\?(session=[0-9a-f]{16}|user=[0-9a-f]{12})$")
ADDRESS = re.compile(r"http://www\.[a-z0-9.-]+\.(com|net|org|gov)((/[a-z0-9.-]+)*|/)(\?[a-z]+=[0-9a-f]+)?")


def written(path, **how):
    write_log(path, overwrite=True, **how)
    return path.read_text("ascii")


def fields(text):
    return [line.split("\t") for line in text.splitlines()]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "log.tsv"
    write_log(path, users=USERS, with_columns=COLUMNS)
    return path


@pytest.fixture(scope="module")
def rows(log):
    return fields(log.read_text("ascii"))[1:]


@pytest.fixture(scope="module")
def homes(rows):
    """The place where each person is most often."""
    return usual(rows, 5)


def usual(rows, column):
    seen = defaultdict(Counter)
    for row in rows:
        seen[row[0]][row[column]] += 1
    return {user: counts.most_common(1)[0][0] for user, counts in seen.items()}


@pytest.mark.parametrize(
    ("people", "digest"),
    [
        ("heavy", "010dcbcb3b73daaee736eb9615953fd2581c7c8f1fbd807e88c4ab69875a52ad"),
        ("all", "5328c2516ca857c906681941986a24c3f4f5b34ee17b72a7786bf52727a2c5d4"),
    ],
)
def test_a_log_without_further_columns_has_the_bytes_that_it_always_had(tmp_path, people, digest):
    text = written(tmp_path / "log", lines=3_000, seed=1, people=people)
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert text == written(tmp_path / "none", lines=3_000, seed=1, people=people, with_columns=())


def test_the_same_seed_gives_the_same_bytes_and_a_shorter_log_begins_a_longer_one(tmp_path, log):
    again = written(tmp_path / "again", lines=20_000, with_columns="shown, language,device,place")
    assert log.read_text("ascii").startswith(again)
    assert not again.startswith(written(tmp_path / "other", lines=10, seed=1, with_columns=COLUMNS)[200:])


@pytest.mark.parametrize(
    "chosen", [some for size in (1, 2) for some in itertools.combinations(COLUMNS, size)]
)
def test_any_columns_may_be_chosen_and_are_the_same_whichever_others_are(tmp_path, rows, chosen):
    header, *some = fields(written(tmp_path / "log", lines=500, with_columns=",".join(chosen)))
    assert header[5:] == [name.capitalize() for name in chosen]
    for place, name in enumerate(chosen, start=5):
        if name == "shown" and "place" not in chosen:
            continue  # places change queries, and these what is shown
        assert [row[place] for row in some] == [row[5 + COLUMNS.index(name)] for row in rows[:500]]


def test_devices_and_languages_leave_aols_columns_as_they_are(tmp_path):
    plain = fields(written(tmp_path / "plain", lines=3_000))
    more = fields(written(tmp_path / "more", lines=3_000, with_columns="device,language"))
    assert [row[:5] for row in more] == plain


def test_users_times_and_ranks_stay_as_they_are_with_all_columns(tmp_path, rows):
    plain = fields(written(tmp_path / "plain", lines=3_000))[1:]
    assert [(row[0], row[2], row[3]) for row in rows[:3_000]] == [(row[0], row[2], row[3]) for row in plain]


def test_every_line_has_nine_fields_and_a_page_of_ten_different_addresses(rows):
    assert {len(row) for row in rows} == {9}
    assert all(
        re.fullmatch(r"US/[A-Z]{2}/[A-Z][A-Za-z ]+|(GB|CA|MX|AU|DE|IE|FR)/[A-Z]+/.+", row[5]) for row in rows
    )
    assert {row[6] for row in rows} <= set(DEVICES)
    assert {row[7] for row in rows} <= set(LANGUAGES)
    for shown in {row[8] for row in rows}:
        addresses = shown.split(" ")
        assert len(set(addresses)) == len(addresses) == 10
    addresses = {address for row in rows[:20_000] for address in row[8].split(" ")}
    assert [address for address in addresses if not ADDRESS.fullmatch(address)] == []


def test_the_clicked_address_is_shown_at_its_rank(rows):
    clicks = [row for row in rows if row[3]]
    assert len(clicks) > 50_000
    assert all(row[8].split(" ")[(int(row[3]) - 1) % 10] == row[4] for row in clicks)
    assert not any(row[4] for row in rows if not row[3])


def test_people_who_type_the_same_query_are_mostly_shown_the_same(rows):
    pages = defaultdict(dict)
    for row in rows:
        if not TOKEN.search(row[4]) and (not row[3] or int(row[3]) <= 10):
            pages[row[1]].setdefault(row[0], row[8])
    shared = [Counter(own.values()) for own in pages.values() if len(own) >= 10]
    assert len(shared) > 100
    same = sum(counts.most_common(1)[0][1] for counts in shared) / sum(map(Counter.total, shared))
    assert 0.8 < same < 0.98


def test_some_addresses_have_paths_and_a_few_have_a_token(rows):
    clicks = [row[4] for row in rows if row[4]]
    assert 0.3 < np.mean([address.count("/") > 2 for address in clicks]) < 0.7
    two_words = [(*row[1].split(), row[8]) for row in rows if len(row[1].split()) == 2]
    assert any(f".com/{second}/{first}" in shown for first, second, shown in two_words)
    assert 0.003 < np.mean([bool(TOKEN.search(address)) for address in clicks]) < 0.03


def test_a_token_is_one_persons(rows):
    users, lines = defaultdict(set), Counter()
    for row in rows:
        for token in re.findall(r"\?\S+", row[8]):
            users[token].add(row[0])
            lines[token] += 1
        assert row[8].count("?") == row[4].count("?")
    assert {len(own) for own in users.values()} == {1}
    assert max(lines.values()) >= 5  # so counting lines instead of people would publish it


def test_many_people_live_where_few_others_do_and_most_events_are_at_home(rows, homes):
    people = Counter(homes.values())
    assert people.most_common(1)[0][1] > 0.04 * USERS
    assert 0.3 < sum(count for count in people.values() if count < 5) / USERS < 0.7
    assert 0.75 < np.mean([row[5] == homes[row[0]] for row in rows]) < 0.95
    assert {len({row[5] for row in own}) for _, own in itertools.groupby(rows, lambda row: row[0])} == {1, 2}


def test_queries_that_name_a_city_come_from_people_near_it(rows):
    known = terms.read_terms()
    cities = known.pieces[known.first("cities") :][: known.count("cities")]
    names = re.compile(rf"\b({'|'.join(cities)})\b")
    there = Counter(row[5].rpartition("/")[2].lower() for row in rows)
    found = [(match[1], row[5].rpartition("/")[2].lower()) for row in rows if (match := names.search(row[1]))]
    by_chance = np.mean([there[city] / len(rows) for city, _ in found])
    assert np.mean([city == place for city, place in found]) > 3 * by_chance


def test_a_person_has_one_or_two_devices_and_one_language(rows):
    for column, most in ((6, 2), (7, 1)):
        values = defaultdict(set)
        for row in rows:
            values[row[0]].add(row[column])
        assert max(map(len, values.values())) == most
    usually = usual(rows, 6)
    assert 0.8 < np.mean([row[6] == usually[row[0]] for row in rows]) < 0.95


def test_languages_fit_where_people_live(rows, homes):
    spoken = usual(rows, 7)
    share = Counter(spoken.values())
    assert 0.75 < share["en-US"] / USERS < 0.95
    assert {spoken[user] for user, home in homes.items() if home.startswith("GB/")} == {"en-GB"}
    southern = [
        spoken[user] == "es-US" for user, home in homes.items() if home[:5] in ("US/TX", "US/CA", "US/FL")
    ]
    other = [
        spoken[user] == "es-US" for user, home in homes.items() if home[:5] in ("US/GA", "US/IL", "US/OH")
    ]
    assert np.mean(southern) > 1.5 * np.mean(other)


def test_frequent_queries_have_one_address_that_most_clicks_go_to(rows):
    clicks = defaultdict(Counter)
    for row in rows:
        if row[4]:
            clicks[row[1]][row[4]] += 1
    frequent = [counts for counts in clicks.values() if counts.total() >= 100]
    assert len(frequent) > 5
    shares = [counts.most_common(1)[0][1] / counts.total() for counts in frequent]
    assert 0.3 < min(shares) <= np.mean(shares) < 0.95
    assert clicks["google"].most_common(1)[0][0] == "http://www.google.com"


def test_such_a_file_is_read_by_its_columns_names(log):
    assert format_of(log) == "tsv"
    layout = find_layout(Source(log), InputForm())
    assert layout.column_names == {"user": "AnonID", "query": "Query", "time": "QueryTime", "url": "ClickURL"}


def test_a_dry_run_recognises_user_query_time_and_address(tmp_path):
    write_log(tmp_path / "searches.txt", users=60, with_columns=COLUMNS)
    ran = call("anonymize", tmp_path / "searches.txt", "--dry-run")
    assert ran.code == 0
    assert "columns user=AnonID, query=Query, time=QueryTime, url=ClickURL" in ran.out
    assert re.search(r"^ *0 +of them would be rejected", ran.out, re.MULTILINE)


@pytest.mark.parametrize(
    "header", ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL", "AnonID\tQuery\tQueryTime"]
)
def test_a_file_with_aols_columns_alone_is_still_of_aols_format(tmp_path, header):
    path = tmp_path / "log.txt"
    path.write_text(
        f"{header}\n7\tcats\t2006-03-01 10:00:00" + "\t" * (header.count("\t") - 2) + "\n", "ascii"
    )
    assert format_of(path) == "aol"


def test_an_unknown_column_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadInputError) as refusal:
        write_log(tmp_path / "log", users=1, with_columns="plce,device")
    message = "must be one of place, device, language, shown (got 'plce') (did you mean 'place'?)"
    assert str(refusal.value) == f"with_columns {message}"
    with options_as_flags(), pytest.raises(BadInputError, match=r"^--with must be one of"):
        write_log(tmp_path / "log", users=1, with_columns=["plce"])
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_writes_what_python_does_and_refuses_columns_of_a_table(tmp_path):
    ran = call("synth", "--lines", 300, "--with", "place,shown", "--out", tmp_path / "log.tsv")
    assert ran.code == 0
    python = written(tmp_path / "python", lines=300, with_columns=("place", "shown"))
    assert (tmp_path / "log.tsv").read_text("ascii") == python
    refused = call("synth", "--loans", 10, "--with", "place", "--out", tmp_path / "people.csv")
    assert (refused.code, "--with is for logs" in refused.err) == (2, True)
    assert call("synth", "--lines", 3, "--with", "", "--out", tmp_path / "no.tsv").code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"log.tsv", "python"}


def peak_bytes(path, users):
    arrow, seen = pa.total_allocated_bytes(), []
    tracemalloc.start()
    write_log(
        path,
        users=users,
        with_columns=COLUMNS,
        overwrite=True,
        progress=lambda *_: seen.append(pa.total_allocated_bytes()),
    )
    peak = tracemalloc.get_traced_memory()[1] + max(seen) - arrow
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_log(tmp_path):
    write_log(tmp_path / "warm", users=1, with_columns=COLUMNS)  # terms are read once
    assert peak_bytes(tmp_path / "long", 768) < 1.5 * peak_bytes(tmp_path / "short", 256)
