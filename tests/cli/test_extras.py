"""A part whose packages are not installed says what to install."""

from __future__ import annotations

import pytest

from incrowd.cli.extras import importing_extra
from incrowd.errors import BadInputError


def test_a_missing_package_is_named_with_its_extra():
    said = r"the studio needs the package 'no_such': pip install 'incrowd\[studio\]'"
    with pytest.raises(BadInputError, match=said), importing_extra("studio"):
        import no_such  # noqa: F401, PLC0415


def test_a_missing_part_of_the_program_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError), importing_extra("studio"):
        import incrowd.no_such  # noqa: F401, PLC0415
