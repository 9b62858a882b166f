"""In which encodings text may be that is not UTF-8: a guess by how usual its characters would be."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["likely_encodings"]

_MOST = 3
_LEAST_SCORE = 0.5
_STEPS = 20  # scores that differ by less than one in so many count as equal

# Leading bytes of signs and of the characters in daily use: of ideographs, the first level of each national standard.
# Where two fit as well, the one with fewer such characters comes first.
_USUAL_LEADS = {
    "euc-kr": ("euc_kr", (range(0xA1, 0xA4), range(0xB0, 0xC9))),
    "shift_jis": ("shift_jis", (range(0x81, 0x84), range(0x88, 0x98))),
    "euc-jp": ("euc_jp", (range(0xA1, 0xA6), range(0xB0, 0xD0))),
    "big5": ("big5", (range(0xA1, 0xC7),)),
    "gbk": ("gb2312", (range(0xA1, 0xA4), range(0xB0, 0xD8))),
    "gb18030": ("gb2312", (range(0xA1, 0xA4), range(0xB0, 0xD8))),
}
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA = re.compile("[\u3041-\u30fe]")
_WORD = re.compile(r"[^\W\d_]+")
_CYRILLIC_WORD = re.compile("[\u0410-\u042f\u0401]?[\u0430-\u044f\u0451]+|[\u0410-\u042f\u0401]+")
# Letters with an accent stand between plain ones; noise does not.
_WESTERN = re.compile(
    r"(?<=[A-Za-z])[\xdf-\xf6\xf8-\xff\u0153\u0161\u017e]"
    r"|[\xc0-\xd6\xd8-\xf6\xf8-\xff\u0152\u0153\u0160\u0161\u017d\u017e](?=[A-Za-z])"
    r"|[\u2018-\u201d\u2013\u2026\u20ac\xa3\xb0]"
)


def likely_encodings(sample: bytes) -> list[str]:
    """Return at most three encodings in which lines of text make sense, the likeliest first."""
    lines = [line for line in sample.split(b"\n") if not line.isascii()]
    scores = {name: round(_score(lines, name, judge) * _STEPS) for name, judge in _JUDGES.items()}
    if scores["gbk"]:
        del scores["gb18030"]  # which has all of it and more
    good = [name for name, score in scores.items() if score >= _LEAST_SCORE * _STEPS]
    return sorted(good, key=lambda name: -scores[name])[:_MOST]


def _score(lines: list[bytes], name: str, judge: Callable[[str, str], float]) -> float:
    """Return the share of lines that can be decoded, times the share of their characters that would be usual."""
    texts = []
    for line in lines:
        try:
            texts.append(line.decode(name))
        except UnicodeDecodeError:
            continue
    text = "\n".join(texts)
    beyond = len(_BEYOND_ASCII.findall(text))
    return len(texts) / len(lines) * judge(text, name) / beyond if beyond else 0.0


def _usual_ideographs(text: str, name: str) -> float:
    codec, leads = _USUAL_LEADS[name]
    characters = _BEYOND_ASCII.findall(text)
    coded = (character.encode(codec, "ignore") for character in characters)
    usual = sum(len(code) > 1 and any(code[0] in lead for lead in leads) for code in coded)
    return usual / 2 if name == "shift_jis" and not _KANA.search(text) else usual


def _usual_cyrillic(text: str, _name: str) -> float:
    return sum(len(word) for word in _WORD.findall(text) if _CYRILLIC_WORD.fullmatch(word))


def _usual_western(text: str, _name: str) -> float:
    return len(_WESTERN.findall(text))


_JUDGES: dict[str, Callable[[str, str], float]] = {
    **dict.fromkeys(_USUAL_LEADS, _usual_ideographs),
    "cp1251": _usual_cyrillic,
    "latin-1": _usual_western,
    "cp1252": _usual_western,
}
