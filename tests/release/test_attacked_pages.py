"""What attacks found, on the certificate and in the private report: only where a release was attacked, and before it has its name."""

from __future__ import annotations

import html
import re

import pytest

import incrowd as ic
from attacks.made_up import after_side
from incrowd.attacks.shown import certificate_rows
from incrowd.errors import ClaimError
from incrowd.report.risk_rows import RiskRow

ROWS = [["milk", "bread"]] * 20 + [["milk", "beer"]] * 20
FOUND = certificate_rows(after_side())


@pytest.fixture(scope="module")
def release():
    data = ic.Transactions.from_rows(ROWS)
    return ic.anonymize(data, ic.balanced(data, 2), k=3, method="mosaic", seed=1)


def pages(place):
    """Return what a reader of the certificate and of the private report sees."""
    texts = ((place / name).read_text(encoding="utf-8") for name in ("out.certificate.html", "private.html"))
    return [
        " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.partition("<body>")[2])).split())
        for text in texts
    ]


def write(release, place, **how):
    release.write(place / "out", certificate=True, private_report=place / "private.html", **how)
    return pages(place)


def test_both_pages_say_what_was_found(release, tmp_path):
    seen = []

    def attack(draft):
        seen.append(sorted(path.name for path in draft.iterdir()))
        assert not (tmp_path / "out").exists(), "it has no name yet"
        return [*FOUND, RiskRow("<i>More", "not measured")]

    certificate, private = write(release, tmp_path, attack=attack)
    assert seen == [sorted(path.name for path in (tmp_path / "out").iterdir())]
    for row in FOUND:
        assert row.in_public in certificate
        assert not row.interval or row.interval not in certificate, "exact figures are the owner's"
        assert (
            f"{row.question} {row.risk} {row.interval} {row.control or 'none'} {row.tries} {row.attack}"
            in private
        )
    assert "<i>More: not measured" in certificate
    assert "<i>More not measured" in private
    for text in (certificate, private):
        assert "A low figure is a lower bound" in text
    assert "the audit cannot recount it" in certificate


def test_without_attacks_they_say_nothing_of_them(release, tmp_path):
    for text in write(release, tmp_path):
        assert "attacks found" not in text
        assert "lower bound" not in text


def test_an_attack_that_refuses_leaves_nothing(release, tmp_path):
    def refuse(draft):
        raise ClaimError(f"too risky: {draft.is_dir()}")

    with pytest.raises(ClaimError, match="too risky: True"):
        release.write(tmp_path / "out", certificate=True, private_report=tmp_path / "p.html", attack=refuse)
    assert list(tmp_path.iterdir()) == []
