"""Chinese texts, which have no blanks between their words: jieba (the extra ``zh``) tells where words end.

It says nothing of what words mean. That is for a taxonomy: on WordNet, frequent nouns hang under their English ones
(:mod:`incrowd.taxonomy.words.chinese`), and other Chinese words are filed by their script.
"""

from __future__ import annotations

import logging
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import BadInputError, option
from incrowd.taxonomy.words.chinese import chinese_nouns

__all__ = ["segmented"]

_HAN = r"\p{Han}"
_RUN = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
# Words that only hold a sentence together, or ask.
FUNCTION_WORDS = frozenset(
    "的 了 和 是 在 吗 呢 吧 与 及 或 也 都 就 把 被 给 对 从 到 很 不 有 我 你 他 她 它 我们 这 那 这个 那个 什么 怎么 怎么办 怎么样 怎样 如何 哪里 哪个 为什么 多少 几".split()  # noqa: SIM905
)
# The hundred most frequent surnames, and some of two characters.
SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
DOUBLE_SURNAMES = frozenset("欧阳 司马 诸葛 上官 司徒 东方 皇甫 尉迟 公孙 慕容".split())  # noqa: SIM905
LONGEST_NAME = 4


class _Splitter(NamedTuple):
    """Cuts a run of Chinese characters into words; some of them are known as names of persons."""

    cut: Callable[[str], list[str]]
    persons: frozenset[str]


def segmented(texts: pa.StringArray) -> pa.StringArray:
    """Put blanks between the words of Chinese texts, and leave function words out; other texts and nulls stay as they are.

    A person's name is two words, the surname and the rest, as it is in English: a full name is never one item.
    """
    rows = np.array(pc.fill_null(pc.match_substring_regex(texts, _HAN), fill_value=False), dtype=np.bool_)
    splitter = _splitter()
    if not rows.any():
        return texts
    mask = pa.array(rows)
    changed = [_with_blanks(text, splitter) for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(changed, pa.string()))


def _with_blanks(text: str, splitter: _Splitter) -> str:
    def words(run: re.Match[str]) -> str:
        parts = [part for word in splitter.cut(run[0]) for part in _parts(word, splitter.persons)]
        return f" {' '.join(part for part in parts if part not in FUNCTION_WORDS)} "

    return " ".join(_RUN.sub(words, text).split())


def _parts(word: str, persons: frozenset[str]) -> tuple[str, ...]:
    """Return a word, or the surname and the rest of a person's name."""
    if word not in persons:
        return (word,)
    end = 2 if word[:2] in DOUBLE_SURNAMES else 1
    return (word[:end], word[end:])


@cache
def _splitter() -> _Splitter:
    """Load jieba's dictionary (once per process, a second)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its old way to find its own files
            import jieba  # noqa: PLC0415 (an extra)
    except ImportError:
        raise BadInputError(
            f"{option('segment', 'zh')} needs jieba: install it with pip install 'incrowd[zh]'"
        ) from None
    jieba.setLogLevel(logging.WARNING)
    words = jieba.Tokenizer()
    with (
        tempfile.TemporaryDirectory() as place
    ):  # it would read a cache that anybody may have put into the common one
        words.tmp_dir = place
        words.initialize()
    # Without its guesses at unknown words, most of which are names: those fall into single characters.
    return _Splitter(lambda run: list(words.cut(run, HMM=False)), _persons(words))


def _persons(words: Any) -> frozenset[str]:
    """Return the words that jieba's dictionary marks as persons and that begin with a surname, but for nouns of our own list (jieba takes the panda for a Mr Bear)."""
    with words.get_dict_file() as file:
        lines = (line.decode().split() for line in file)
        marked = (line[0] for line in lines if line[-1].startswith("nr"))
        return frozenset(word for word in marked if _is_full_name(word)) - chinese_nouns().keys()


def _is_full_name(word: str) -> bool:
    double = word[:2] in DOUBLE_SURNAMES
    return (word[:1] in SURNAMES or double) and 2 + double <= len(word) <= LONGEST_NAME
