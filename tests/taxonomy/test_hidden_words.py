"""Attacks on what is published as its kind only: names, numbers and addresses, written in every way that comes to mind."""

# ruff: noqa: RUF001 (unusual characters are the point)

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from helpers import strings
from incrowd.core.transactions import Transactions
from incrowd.logs.items import words_of
from incrowd.taxonomy import attach, wordnet_tree
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.words import name_words
from incrowd.taxonomy.words.table import word_table
from incrowd.text.words import find_nouns, find_terms

NAMES = [
    "johnsmith", "john.smith", "john_smith", "john-smith", "smith,john", "john+smith", "john/smith",
    "john&smith", "john=smith", "john|smith", "john:smith", "john;smith", "john~smith", 'john"smith', "john'smith",
    "john–smith", "john·smith", "john(smith", "smithjohn", "smith.john", "john.q.smith", "johnqsmith", "johnpaulsmith",
    "j.smith", "j.q.smith", "jsmith", "johnsmiths", "johnsmith's", "dr.johnsmith", "mrjohnsmith", "johnsmithmd", "john.smith.name",
    "user=johnsmith", "o'brien-smith", "o’brien-smith", "mary-ann.o'brien", "garcía-lópez", "walsh-montoya", "bobdylan", "ivanpetrov",
    "ｊｏｈｎｓｍｉｔｈ", "john\u200dsmith", "jоhnsmith", "johnsмith", "johnsmıth", "joɦnsmith", "ᴊᴏʜɴsᴍɪᴛʜ", "søren_jensen",
    "mariagarcialopez", "johnfitzgeraldkennedy", "kennedyjohnf", "j.o.h.n.s.m.i.t.h",
]  # fmt: skip
RARE = [
    "tregoning",
    "tregoning's",
    "krzyzewski",
    "krzyzewskis",
    "zywicki-smith",
    "mcgillycuddy",
    "wang.xiaoming",
]
SITES = [
    "johnsmith.com", "john-smith.co.uk", "johnsmith.net:8080", "johnqsmith.com", "johnsmithphotography.com", "thejohnsmith.com",
    "krzyzewski.com", "tregoning.org", "5551234567.com", "555-1234.com", "12elmstreet.com",
]  # fmt: skip
INSIDE_SITES = [
    "geocities.com/johnsmith", "http://www.geocities.com/~johnsmith/555-123-4567", "johnsmith.geocities.com",
    "geocities.com?name=johnsmith", "http://geocities.com/#johnsmith", "http:/geocities.com/john", "http//geocities.com/john",
]  # fmt: skip
NUMBERS = [
    "555-1234", "5551234567", "(555)123-4567", "555.123.4567", "555/123-4567", "555_123_4567", "555–123–4567", "555·123·4567",
    "+442079460958", "44(0)2079460958", "tel:5551234567", "icq:1234567", "1-800-flowers", "12-34-56", "123-45-6789", "ssn:123-45-6789",
    "x123456789", "ab123456c", "4111-1111-1111-1111", "90210", "sw1a1aa", "192.168.0.1", "10/12/1974", "19741012", "jan1975",
    "一三八一二三四五六七八", "５５５一二三四五六七",
    "1990年3月7日", "建国路88号3单元501室",
    "７７３１", "５５５１２３４", "٥٥٥١٢٣٤٥٦٧", "५५५१२३४", "①②③④⑤⑥⑦", "555\u200b1234",
]  # fmt: skip
ADDRESSES = [
    "7731elmstreet", "12-elm-street", "221b-baker-street", "1600-n.-pennsylvania-ave", "jane@example.org", "mailto:jane@example.org",
    "jane＠example.org", "jane(at)example.org", "jane%40example.org", "user:jane@example", "zorblax_at_example.org",
]  # fmt: skip
ALL = [*NAMES, *RARE, *SITES, *NUMBERS, *ADDRESSES]


@pytest.mark.parametrize("word", ALL)
def test_nothing_but_the_kind_of_a_private_word_is_published(word):
    (found,) = name_words([word.lower()])
    assert found is not None
    assert found.item == found.parent
    assert found.item in word_table().parents or lexicon().node(found.item) is not None


@pytest.mark.parametrize(
    "word",
    [
        "a" * 200_000,
        "john" * 50_000,
        "mary." * 40_000,
        "a-" * 100_000,
        "1" + "." * 50_000,
        "1" + ".a" * 50_000,
        "a" * 100_000 + ".com",
        "'" * 100_000,
        "800-" + "a" * 200_000 + "!",
        "x_at_y" * 50_000,
        "j." * 100_000,
        "аb" * 50_000,
    ],
)
def test_long_words_take_no_longer_than_they_are_long(word):
    start = time.process_time()
    name_words([word])
    assert time.process_time() - start < 2


@pytest.mark.parametrize("word", INSIDE_SITES)
def test_of_an_address_the_site_alone_is_published(word):
    (found,) = name_words([word])
    assert found.item == "geocities.com"


@pytest.mark.parametrize("find", [find_nouns, find_terms])
def test_words_of_a_log_are_hidden_before_people_are_counted(find):
    words = strings(*sorted(set(ALL)))
    assert not set(find(words, named=True).item.to_pylist()) & set(ALL)


def test_items_from_elsewhere_are_no_leaves_either():
    words = ["mary walsh", "555 123 4567", "12 elm street", "mail jane@example.org"]
    items = [*ALL, *(word.upper() for word in NAMES), *words]
    made = attach(Transactions.from_rows([["dog", *items]]), wordnet_tree(), unlisted="name")
    lowered = {label.lower() for label in made.taxonomy.labels.to_pylist()}
    assert [item for item in items if item.lower() in lowered] == []
    assert made.unlisted == 0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("call +1 (555) 123-4567 now", ["call", "1-555-123-4567", "now"]),
        ("555 123 4567", ["555-123-4567"]),
        ("555 1998", ["555-1998"]),
        ("01 42 68 53 00", ["01-42-68-53-00"]),
        ("ssn 123 45 6789", ["ssn", "123-45-6789"]),
        ("4111 1111 1111 1998", ["4111-1111-1111-1998"]),
        ("sw1a 1aa london", ["sw1a1aa", "london"]),
        ("K1A 0B1", ["k1a0b1"]),
        ("12 Elm Street boston", ["12-elm-street", "boston"]),
        ("1234 elm st.", ["1234-elm-st"]),
        ("221b baker street", ["221b-baker-street"]),
        ("1997 1998 1999", ["1997", "1998", "1999"]),
        ("windows 95 98", ["windows", "95", "98"]),
        ("1904 world fair st louis", ["1904", "world", "fair", "st", "louis"]),
        ("24 hour road service", ["24", "hour", "road", "service"]),
        ("a1 5th", ["a1", "5th"]),
    ],
)
def test_numbers_and_addresses_of_several_words_are_one(query, words):
    queries = pa.array([query, None, "dog"])
    assert words_of(queries, "terms", named=True).to_pylist() == [words, None, ["dog"]]
    assert words_of(queries, "nouns").to_pylist()[0] == [
        part.strip("+().,") for part in query.lower().split()
    ]


@pytest.mark.parametrize(
    "marks", ['""', "''", "“”", "„“", "«»", "()", "[]", "{}", "<>", '("")', "+", "-", "=", "#", ":"]
)
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("12 elm street", "12-elm-street"),
        ("12 elm st", "12-elm-st"),
        ("1200 oak drive", "1200-oak-drive"),
        ("555 123 4567", "555-123-4567"),
        ("5551 23 45 67", "5551-23-45-67"),
        ("sw1a 1aa", "sw1a1aa"),
    ],
)
def test_signs_around_hide_no_number_or_address(marks, text, word):
    """Whoever looks for a phrase types quotation marks: what is inside is no less private."""
    middle = (len(marks) + 1) // 2
    query = f"near {marks[:middle]}{text}{marks[middle:]}"
    assert words_of(pa.array([query]), "terms", named=True).to_pylist() == [["near", word]]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("555 - 123 - 4567 now", ["555-123-4567", "now"]),
        ("[555] 123-4567", ["555-123-4567"]),
        ("born 12 . 03 . 1985", ["born", "12-03-1985"]),
        ("۵۵۵ ۱۲۳ ۴۵۶۷", ["555-123-4567"]),
        ("sales 1997 - 1998 - 1999", ["sales", "1997", "1998", "1999"]),
        ("mail zorblax @ example.org now", ["mail", "zorblax@example.org", "now"]),
        ("zorblax@ example . org", ["zorblax@example.org"]),
        ("zorblax (at) example.org", ["zorblax(at)example.org"]),
        ("zorblax [at] example [dot] co [dot] uk", ["zorblax[at]example[dot]co[dot]uk"]),
        ("Zorblax AT example DOT org", ["zorblax@example.org"]),
        ("住 朝阳区 建国路 88 号 3 单元 501 室", ["住", "朝阳区", "建国路88号3单元501室"]),
        ("电话 一 三八 一二三四五 六 七八 张", ["电话", "一三八一二三四五六七八", "张"]),
        ("1990 年 3 月 7 日 出生", ["1990年3月7日", "出生"]),
        ("1990 年 电影", ["1990", "年", "电影"]),
        ("三 国", ["三", "国"]),
        ("meet me @ noon", ["meet", "me", "noon"]),
        ("hotels at disney.com", ["hotels", "at", "disney.com"]),
        ("polka dot dress", ["polka", "dot", "dress"]),
    ],
)
def test_signs_and_blanks_between_hide_no_number_or_address(query, words):
    assert words_of(pa.array([query]), "terms", named=True).to_pylist() == [words]


@pytest.mark.parametrize(
    "text",
    [
        "x@" * 100_000,
        ",(" * 100_000 + " 12 elm street",
        '"' * 100_000 + " 555 123 4567",
        " @" * 100_000,
        "a@b.c" + " . c" * 50_000,
        "1" + " - " * 50_000 + "1",
        "路" * 100_000,
        "一 " * 100_000,
    ],
)
def test_long_queries_take_no_longer_than_they_are_long(text):
    start = time.process_time()
    words_of(pa.array([f"a@b.c 1 {text}"]), "terms", named=True)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "word", ["kmart", "hotel-reservation", "o'neal", "geocities.com", "mp3", "москва", "हिंदी"]
)
def test_other_words_stay_themselves(word):
    (found,) = name_words([word])
    assert found.item == word.replace("'", "")
