"""Numbers are rounded by what a tile says and a secret, without bias and never below k."""

from __future__ import annotations

import pytest

from incrowd.core.rounding import about, about_step, keyed_share, rounded_from


@pytest.mark.parametrize("k", [2, 5, 7])
def test_rounding_has_no_bias_from_k_on_and_keeps_order(k):
    shares = [(i + 0.5) / 1000 for i in range(1000)]
    for number in range(k, k + 20):
        found = [rounded_from(k, number, share) for share in shares]
        assert sum(found) / len(found) == pytest.approx(number)
        assert all(one >= k and (one - k) % 5 == 0 and abs(one - number) < 5 for one in found)
        assert all(
            one <= rounded_from(k, number + 1, share) for one, share in zip(found, shares, strict=True)
        )


def test_a_share_follows_from_the_seed_and_the_labels_alone():
    tile = [("floors", True), ("wood", False)]
    assert keyed_share(7, tile) == keyed_share(7, tile[::-1])
    others = [
        keyed_share(8, tile),
        keyed_share(7, [("floors", True), ("wood", True)]),
        keyed_share(7, [("floorswood", True)]),
        keyed_share(7, tile[:1]),
    ]
    assert len({keyed_share(7, tile), *others}) == 5
    shares = [keyed_share(3, [(f"word {i}", True)]) for i in range(4000)]
    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.03)
    assert 0 <= min(shares) < 0.01
    assert 0.99 < max(shares) < 1


def test_about_leaves_two_digits_and_never_all():
    numbers = [*range(20, 3_000), *range(99_000, 101_500), 146_113, 10**9 + 7]
    rounded = [about(number) for number in numbers]
    assert [about(number) for number in (23, 87, 99, 104, 995, 146_113)] == [20, 90, 100, 100, 1000, 150_000]
    assert all(one % about_step(number) == 0 for one, number in zip(rounded, numbers, strict=True))
    assert all(abs(one - number) <= number / 4 for one, number in zip(rounded, numbers, strict=True))
    assert all(abs(one - n) <= n / 20 for one, n in zip(rounded, numbers, strict=True) if n >= 100)
    assert rounded == sorted(rounded)
    assert [about(one) for one in rounded] == rounded
    assert (
        len({about(number) for number in range(100, 1_000)}) == 91
    )  # ten numbers each: none is told from its neighbours
