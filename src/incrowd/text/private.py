"""Numbers and addresses that people write in several words: joined before a query is split, they are known for what they are.

``555 123 4567`` would be three small numbers, ``12 elm street`` three words and ``zorblax @ mail.com`` two, each of which may be published. As one word,
they are published as their kind only (:mod:`incrowd.taxonomy.words`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.taxonomy.words.people import usual_digits

__all__ = ["join_private"]

FEWEST_DIGITS = 7
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_SIGNED = r"[0-9][0-9().+/\]–-]*"  # noqa: RUF001
# Signs in front of a number and behind a street: whoever looks for a phrase types quotation marks. More than three together are no marks of a phrase.
_OPENS = r"""(?:^|[ ,:#])["'`«»‹›‘’‚“”„(\[{<+*=~|-]{0,3}"""  # noqa: RUF001
_CLOSES = r"""(?:["'`«»‹›‘’“”)\]}>.,;:!?]|$)"""  # noqa: RUF001
_GROUPS = rf"{_OPENS}{_SIGNED}(?: (?:[-./–] )?[(\[]?{_SIGNED})+"  # noqa: RUF001
_AT, _DOT = r"(?:@|%40|[(\[{<]at[)\]}>])", r"(?:[.]|[(\[{<]dot[)\]}>])"
# No character of a name of a host begins what is between it and the name before, so that a text of many signs takes no longer than others.
_EMAIL = rf"(?:^| )(?:[^ ]+ ?{_AT} ?[^ .@%(\[{{<]+(?: ?{_DOT} ?[a-z]+)+|[^ ]+ at [^ .]+(?: dot [a-z]+)+)"
_OTHER_DIGITS = r"[^0-9\P{Nd}]"
_POSTAL = r"\b[a-z]{1,2}[0-9][a-z0-9]? [0-9][a-z]{2}\b|\b[a-z][0-9][a-z] [0-9][a-z][0-9]\b"
_STREET = (
    rf"{_OPENS}(?:"
    r"[0-9]{1,5}[a-z]?(?: [a-z.]+){1,2} (?:street|avenue|ave|lane|boulevard|blvd)"
    r"|[0-9]{3,5}[a-z]?(?: [a-z.]+){1,2} (?:road|rd|drive|court|ln)"
    rf"|[0-9]{{1,5}}[a-z]?(?: [a-z.]+){{1,2}} (?:st|rd|ln|dr|ct){_CLOSES})"
)
_CHINESE_DIGIT = "[〇零幺一二三四五六七八九]"
# Numbers, streets and dates whose characters may have been parted by blanks (--segment zh).
_CHINESE = (
    rf"{_CHINESE_DIGIT}(?: ?{_CHINESE_DIGIT}){{{FEWEST_DIGITS - 1},}}",
    r"(?:^| )[^ ]*[路街道巷弄] ?[0-9]+ ?[号號弄](?: ?[0-9]+ ?(?:单元|号楼|[室栋楼层]))*",
    r"[0-9]{2,4} ?年 ?[0-9]{1,2} ?月 ?[0-9]{1,2} ?[日号]",
)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)$")


def join_private(texts: pa.StringArray) -> pa.StringArray:
    """Join the words of telephone numbers, other long numbers in groups, postal codes, street and e-mail addresses in normalised texts.

    Digits of other scripts become the usual ones. Nulls stay null.
    """
    with_sign = _matching(
        texts, rf"\p{{Nd}}|{_AT}| dot |{_CHINESE[0]}"
    )  # few have one, and nothing else is looked for
    some = _replaced(texts.filter(with_sign), _OTHER_DIGITS, usual_digits)
    for pattern in _CHINESE:
        some = _replaced(some, pattern, partial(re.compile(pattern).sub, _closed_up))
    for pattern, join in ((_EMAIL, _address), (_STREET, _joined), (_GROUPS, _number), (_POSTAL, _postal)):
        some = _replaced(some, pattern, partial(re.compile(pattern).sub, join))
    return pc.replace_with_mask(texts, with_sign, some)


def _replaced(texts: pa.StringArray, pattern: str, change: Callable[[str], str]) -> pa.StringArray:
    """Return texts with those changed that have a pattern in them."""
    rows = _matching(texts, pattern)
    changed = [change(text) for text in texts.filter(rows).to_pylist()]
    return pc.replace_with_mask(texts, rows, pa.array(changed, pa.string()))


def _matching(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    return pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)


def _closed_up(found: re.Match[str]) -> str:
    """Join what is Chinese; it is a word apart from what is before and after."""
    return f" {found[0].replace(' ', '')} "


def _address(found: re.Match[str]) -> str:
    """Join an e-mail address."""
    before, text = (" ", found[0][1:]) if found[0].startswith(" ") else ("", found[0])
    return before + text.replace(" at ", "@").replace(" dot ", ".").replace(" ", "")


def _joined(found: re.Match[str]) -> str:
    before = _before(found)
    return before + found[0][len(before) :].replace(" ", "-")


def _number(found: re.Match[str]) -> str:
    """Join groups of digits, unless they are few, or all of them years."""
    groups = re.findall("[0-9]+", found[0])
    lengths = [len(group) for group in groups]
    is_long = sum(lengths) >= FEWEST_DIGITS and (len(groups) > 2 or lengths == [3, 4])  # noqa: PLR2004
    if not is_long or all(map(_YEAR.fullmatch, groups)):
        return found[0]
    return _before(found).rstrip("+([") + "-".join(groups)


def _before(found: re.Match[str]) -> str:
    """Return what stands in front of the first digit."""
    return re.split("[0-9]", found[0], maxsplit=1)[0]


def _postal(found: re.Match[str]) -> str:
    return found[0] if _ORDINAL.search(found[0]) else found[0].replace(" ", "")
