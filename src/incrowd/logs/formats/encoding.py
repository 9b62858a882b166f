"""Decodes streams of text in any encoding, checks that it is in the named one, and guesses the right one if not."""

from __future__ import annotations

import codecs
import encodings
import re
import threading
from dataclasses import dataclass, field
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Self

from incrowd.errors import BadInputError, nearest, option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incrowd.logs.formats.streams import AheadStream, ByteStream

__all__ = [
    "UTF8",
    "DecodedStream",
    "Seen",
    "decode_head",
    "find_encoding",
    "likely_encodings",
    "too_many",
    "wrong_encoding",
]

UTF8 = "utf-8"
MOST_BAD = 0.001  # of all bytes; beyond it, the encoding is another one
_SAMPLE_BYTES = 64 * 1024
_COUNTING = "incrowd-counting"
_SURELY_UTF8 = 8  # characters beyond ASCII that text in another encoding does not have in UTF-8 by chance

_NO_TEXT = {
    "base64_codec",
    "bz2_codec",
    "hex_codec",
    "quopri_codec",
    "rot_13",
    "uu_codec",
    "zlib_codec",
    "mbcs",
}
_WITHOUT_ALIAS = {"cp720", "cp737", "cp856", "cp874", "cp875", "cp1006", "koi8_t", "koi8_u", "utf_8_sig"}
_MARKS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
_KNOWN = (set(aliases.values()) | _WITHOUT_ALIAS) - _NO_TEXT

_MOST_GUESSES = 3
_LEAST_SCORE = 0.5
_STEPS = 20  # scores are rounded to this many steps; equal steps count as equal

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


def find_encoding(name: str) -> str:
    """Return the usual name of an encoding; the unknown is refused with the nearest known one."""
    plain = encodings.normalize_encoding(name).lower()
    module = aliases.get(plain, plain)
    if module not in _KNOWN:
        hint = nearest(name.lower(), sorted(known.replace("_", "-") for known in _KNOWN))
        raise BadInputError(f"encoding '{name}' is not known; try utf-8, latin-1, gbk or utf-16{hint}")
    found = codecs.lookup(module).name
    return UTF8 if found == "utf-8-sig" else found


class _Counting(threading.local):
    """An error handler that replaces bytes which cannot be decoded, and counts them."""

    count = 0

    def __call__(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self.count += error.end - error.start
        return "\N{REPLACEMENT CHARACTER}", error.end


_counting = _Counting()
codecs.register_error(_COUNTING, _counting)


@dataclass
class Seen:
    """How many bytes of a file were looked at, and how many of them were not in its encoding.

    Parameters
    ----------
    encoding
        The encoding that the file should be in.
    read, bad
        The bytes so far.
    sample
        Some lines with bad bytes, to guess the right encoding by. Private.
    """

    encoding: str = UTF8
    read: int = 0
    bad: int = 0
    sample: bytes = field(default=b"", repr=False)

    def add(self, data: bytes, bad: int) -> None:
        """Count some bytes, of which `bad` could not be decoded."""
        self.read += len(data)
        self.bad += bad
        if bad and not self.sample:
            end = data.rfind(b"\n", 0, _SAMPLE_BYTES) + 1
            self.sample = data[: end or _SAMPLE_BYTES]

    def likely(self) -> list[str]:
        """Return the encodings that the bad bytes may be in."""
        return [name for name in likely_encodings(self.sample) if find_encoding(name) != self.encoding]

    def check(self, name: str, *, of: int | None = None) -> None:
        """Refuse a file of which too many bytes are bad: of all that were read, or of all that there will be."""
        if too_many(self.bad, self.read if of is None else of):
            raise wrong_encoding(name, self.encoding, self.bad / self.read, self.likely())


def too_many(bad: int, read: int) -> bool:
    """Whether there are too many bad bytes for this to be the right encoding."""
    return bad > MOST_BAD * read


def wrong_encoding(name: str, encoding: str, share: float, likely: Sequence[str]) -> BadInputError:
    """Return the error that names the encodings which a file may be in."""
    guess = f"likely {', '.join(likely)}" if likely else "which one could not be guessed"
    return BadInputError(
        f"{name} is not {encoding.upper()}: {share:.2%} of its bytes are not (more than {MOST_BAD:.1%}); "
        f"name its encoding ({guess}), as {option('encoding', likely[0] if likely else 'latin-1')}"
    )


class DecodedStream:
    """A stream of bytes in some encoding, as the same text in UTF-8. Use as a context manager.

    Parameters
    ----------
    stream
        The bytes.
    encoding
        A name that `find_encoding` gave.

    Attributes
    ----------
    seen
        What could not be decoded so far; it is replaced.
    """

    def __init__(self, stream: ByteStream | AheadStream, encoding: str) -> None:
        self.seen = Seen(encoding)
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(_COUNTING)
        self._waiting = b""
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.__exit__()

    @property
    def stored_bytes_read(self) -> int:
        """How far the file was read, in bytes as stored."""
        return self._stream.stored_bytes_read

    def read(self, size: int, *, line: int) -> bytes:
        """Read `size` bytes of UTF-8, fewer only at the end; `line` is the number of whole lines read before."""
        while len(self._waiting) < size and not self._ended:
            raw = self._stream.read(size, line=line)
            self._ended = len(raw) < size
            before = _counting.count
            text = self._decoder.decode(raw, self._ended)
            self.seen.add(raw, _counting.count - before)
            self._waiting += text.encode(errors="replace")
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return data


def decode_head(name: str, head: bytes, encoding: str) -> bytes:
    """Return the first bytes of a file in UTF-8; refuse those that are plainly in another encoding."""
    if encoding == UTF8:
        return head
    if encoding.startswith(("utf-16", "utf-32")) and b"\0" not in head:
        raise BadInputError(
            f"{name} is not {encoding.upper()}: it has no zero byte; drop {option('encoding')} or name another"
        )
    if encoding in _MARKS and not head.startswith(_MARKS[encoding]):
        raise BadInputError(
            f"{name} has no byte order mark: say which byte comes first, as {option('encoding', _with_order(encoding, head))}"
        )
    if _is_surely_utf8(head):
        raise BadInputError(f"{name} is UTF-8, not {encoding}: drop {option('encoding')}")
    return codecs.getincrementaldecoder(encoding)("replace").decode(head).encode(errors="replace")


def _with_order(encoding: str, head: bytes) -> str:
    """Return the name of the encoding with the order of its bytes: zeros are the high ones of most characters."""
    width = 2 if encoding == "utf-16" else 4
    first, last = head[0::width].count(b"\0"), head[width - 1 :: width].count(b"\0")
    return f"{encoding}-{'be' if first > last else 'le'}"


def _is_surely_utf8(head: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder(UTF8)().decode(head)
    except UnicodeDecodeError:
        return False
    return sum(not character.isascii() for character in text) >= _SURELY_UTF8


def likely_encodings(sample: bytes) -> list[str]:
    """Return at most three encodings in which lines of text make sense, the likeliest first."""
    lines = [line for line in sample.split(b"\n") if not line.isascii()]
    scores = {name: round(_score(lines, name, judge) * _STEPS) for name, judge in _JUDGES.items()}
    if scores["gbk"]:
        del scores["gb18030"]  # which has all of it and more
    good = [name for name, score in scores.items() if score >= _LEAST_SCORE * _STEPS]
    return sorted(good, key=lambda name: -scores[name])[:_MOST_GUESSES]


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
