"""What the tests of whole gateways share: a PostgreSQL of their own."""

from __future__ import annotations

from gateway.postgres import postgres

__all__ = ["postgres"]  # a fixture is found by its name here
