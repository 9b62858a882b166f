"""Print what Google's dp-accounting says of Gaussian mechanisms one after another; tests/core/test_accounting.py holds ours against it.

In an environment of its own: ``pip install dp-accounting && python scripts/accounting_figures.py``.
"""

from __future__ import annotations

import dp_accounting
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

CASES = ((5.0, 1, 1e-6), (5.0, 10, 1e-6), (1.5, 1, 1e-6), (1.5, 4, 1e-9), (20.0, 300, 1e-5), (0.7, 2, 1e-3))
ORDERS = [1 + step / 100 for step in range(1, 20_000)]


def main() -> None:
    """Print each case: sigma, releases, delta, eps by Renyi orders, eps by privacy loss distributions."""
    for sigma, releases, delta in CASES:
        event = dp_accounting.GaussianDpEvent(sigma)
        renyi, exact = RdpAccountant(ORDERS), PLDAccountant()
        for accountant in (renyi, exact):
            accountant.compose(event, releases)
        print(
            f"({sigma}, {releases}, {delta}, {renyi.get_epsilon(delta):.6f}, {exact.get_epsilon(delta):.6f}),"
        )


if __name__ == "__main__":
    main()
