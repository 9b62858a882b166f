"""Small files that an option names: what is no file, cannot be read or is too large is refused by the option's name."""

from __future__ import annotations

import pytest

from incrowd.core.own_files import is_file, read_own
from incrowd.errors import BadInputError

TOO_LONG = "x" * 300  # for a name in any file system


@pytest.mark.parametrize("name", ["none", TOO_LONG, f"{TOO_LONG}/y", "a\0b", ""])
def test_what_can_be_no_name_is_no_file(name):
    assert not is_file(name)


def test_a_file_is_one_and_a_directory_is_none(tmp_path):
    (tmp_path / "list").write_text("word", encoding="utf-8")
    assert is_file(tmp_path / "list")
    assert is_file(str(tmp_path / "list"))
    assert not is_file(tmp_path)


def read(path, largest=4):
    return read_own(path, name="never", kind="a list", remedy="give a file", largest=largest)


def test_a_file_is_read_whole(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"a\r\nb")
    assert read(path) == b"a\r\nb"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is a directory: give a file"),
        ("none", "does not exist: give a file"),
        (TOO_LONG, "cannot be read (File name too long): give a file"),
        ("large", "is too large for a list: is it the input?"),
    ],
)
def test_another_is_refused(tmp_path, name, said):
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(BadInputError) as caught:
        read(tmp_path / name)
    assert str(caught.value) == f"never {tmp_path / name} {said}"
