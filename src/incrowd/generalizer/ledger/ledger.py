"""The ledger: what each person has disclosed to each provider, so that linked queries are private together.

Two queries that are private one by one may identify a person when the provider links them. The ledger stores every
pair (attribute, value as sent), so that the policy can be checked for all of them together. It fails closed: a pair is
on disk before the query is sent, and if it cannot be written, a `LedgerError` is raised and nothing may be sent.

What an attacker learns who steals the file
-------------------------------------------
Persons are stored as HMAC-SHA256 under the secret, of the person *and* the provider: without the secret no person
is named, names cannot be tested, and one person's rows for two providers have different keys.
Attributes, values, times and the list of providers are stored in clear: the policy is evaluated on the values, so they
must be readable, and the standard library has no encryption. An attacker therefore sees, for each key, what one
provider was sent. The policy keeps that from disclosing the protected attributes, but it may describe a person well
enough to be recognised, and equal times may link the keys of two providers. With the secret as well, an attacker can
look up any person by name: store the secret elsewhere. The file and its ``-wal`` and ``-shm`` companions have mode
0600, and a file that other users may read is refused.

How a loss is noticed
---------------------
A ledger is created by `incrowd.generalizer.ledger.store.create_ledger` only. Its marker, a file in another place, records
how many writes there were (`incrowd.generalizer.ledger.marker`); a ledger that is missing, is another one or has fewer
writes is a `LedgerError`. Setting the system clock does not advance its time (`incrowd.generalizer.ledger.clock`). It can
be used only with the secret it was created with.

What it does not guarantee
--------------------------
Providers do not forget when entries expire or are erased: from then on the person is protected like a new one. A user
with write access to the file and its marker can remove entries, or restore both from the same day.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from incrowd.errors import BadInputError, IncrowdError
from incrowd.generalizer.ledger.clock import LedgerClock, steady_seconds
from incrowd.generalizer.ledger.file import LedgerError
from incrowd.generalizer.ledger.store import LedgerEvents, LedgerStore, check_secret

__all__ = ["Ledger", "Past", "Reservation"]

CHECK_INTERVAL = 2.0
"""Seconds for which a successful test write counts."""
RENEW_AFTER = 0.01  # share of the time to live within which a repeated disclosure is not written again
# A repeated disclosure counts from the later time, also when the clock was set back in between.
REMEMBER = """
INSERT INTO disclosures VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET disclosed_at = max(disclosed_at, excluded.disclosed_at)
"""


# One statement, so that entries and metadata are read at the same moment.
READ = """
SELECT sequence, time, attribute, value, disclosed_at FROM meta LEFT JOIN disclosures ON who = ?
"""
Disclosed = dict[str, frozenset[str]]


class Past(NamedTuple):
    """A person's past disclosures to a provider: attribute to values, and the pairs that were disclosed recently."""

    disclosed: Disclosed
    recent: set[tuple[str, str]]

    def covers(self, sent: Mapping[str, str]) -> bool:
        """Return whether all pairs were disclosed so recently that they need not be written again."""
        return self.recent >= sent.items()


class Reservation:
    """Exclusive access for one person and provider, while every other reservation waits; made by `Ledger.reserving`.

    Attributes
    ----------
    disclosed
        The past disclosures when the reservation began: attribute to values.
    """

    def __init__(self, disclosed: Disclosed, remember: Callable[[Mapping[str, str]], None]) -> None:
        self.disclosed = disclosed
        self._remember: Callable[[Mapping[str, str]], None] | None = remember

    def disclose(self, sent: Mapping[str, str]) -> None:
        """Store what is about to be sent; it is on disk when the ``with`` block has ended."""
        if self._remember is None:
            raise LedgerError("the reservation has ended: disclose inside its with block")
        self._remember(sent)

    def end(self) -> None:
        """Allow no further disclosure."""
        self._remember = None


class Ledger:
    """A file that stores disclosures, shared by the threads and processes that open it.

    Calls wait for the disk and for each other: in an event loop, make them in a worker thread. Each
    process must open the file itself, after a fork.

    Parameters
    ----------
    path
        The file, created by `create_ledger`. It must be on a local file system.
    marker
        Its marker, created with it.
    secret
        The key of the persons' HMACs that the ledger was created with.
    time_to_live
        Seconds for which a disclosure counts (at most 1 % longer); ``math.inf`` for ever.
    clock, steady
        The wall clock and a monotonic clock, in seconds.
    timeout
        Seconds to wait for others to release the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        marker: str | os.PathLike[str],
        secret: bytes,
        time_to_live: float,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = steady_seconds,
        timeout: float = 5.0,
    ) -> None:
        check_secret(secret)
        if not time_to_live > 0:
            raise BadInputError(f"time_to_live must be more than 0 seconds (got {time_to_live})")
        self._secret = secret
        self._time_to_live = time_to_live
        self._checked = -math.inf
        self._store = LedgerStore(
            Path(path).absolute(),
            Path(marker).absolute(),
            secret,
            lambda meta: LedgerClock(
                clock, steady, last_wall=meta.wall, last_time=meta.time, time_to_live=time_to_live
            ),
            timeout,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the ledger cannot be used afterwards."""
        self._store.close()

    def disclosed(self, person: str, provider: str) -> Disclosed:
        """Return the values that the person disclosed to the provider and that have not expired."""
        return self.past(person, provider).disclosed

    def past(self, person: str, provider: str) -> Past:
        """Return what the person disclosed to the provider, and which of it recently."""
        who = self._key(person, provider)
        with self._store:
            return self._read(who)

    def disclose(self, person: str, provider: str, sent: Mapping[str, str]) -> None:
        """Store what is about to be sent, all or nothing; send it only after this returns."""
        with self.reserving(person, provider) as reservation:
            reservation.disclose(sent)

    @contextlib.contextmanager
    def reserving(self, person: str, provider: str) -> Iterator[Reservation]:
        """Read, decide and disclose without any other writer in between; send only after the ``with`` block.

        The end of the block commits; an exception in it rolls back. All other writers wait, for whichever person they
        write, so decide in the block but never send in it.
        """
        who = self._key(person, provider)

        def remember(sent: Mapping[str, str]) -> None:
            try:
                self._write(who, provider, sent)
            except IncrowdError:
                self._store.roll_back()  # so that a caller that suppresses the error cannot commit
                raise

        with self._store.transaction():
            reservation = Reservation(self._read(who).disclosed, remember)
            try:
                yield reservation
            finally:
                reservation.end()

    def forget(self, person: str) -> int:
        """Erase a person at every provider, also from the file's bytes; return the number of erased entries.

        Where another process is reading, the ``-wal`` file may keep old bytes until a later `forget` or `expire`.
        """
        with self._store.transaction():
            self._store.begin_write()
            keys = [self._key(person, provider) for (provider,) in self._run("SELECT name FROM providers")]
            entries = sum(self._delete("DELETE FROM disclosures WHERE who = ?", key) for key in keys)
        self._store.checkpoint("TRUNCATE")  # since the log still holds the deleted rows
        return entries

    def expire(self) -> int:
        """Erase the expired entries of all persons; return their number."""
        with self._store.transaction():
            horizon = self._horizon(self._store.begin_write())
            entries = self._delete("DELETE FROM disclosures WHERE disclosed_at <= ?", horizon)
        self._store.checkpoint("TRUNCATE")
        return entries

    def check(self) -> None:
        """Raise a `LedgerError` if the ledger cannot be read, or could not be written within the last two seconds.

        It writes, and waits for the disk: in an event loop, call it in a worker thread.
        """
        self.disclosed("", "")
        if time.monotonic() - self._checked > CHECK_INTERVAL:
            with self._store.transaction():
                self._store.begin_write()
            self._checked = time.monotonic()

    def take_events(self) -> LedgerEvents:
        """Return what happened since the last call."""
        return self._store.take_events()

    def _key(self, person: str, provider: str) -> bytes:
        _check_text("person", person)
        _check_text("provider", provider)
        name = person.encode()
        # The length keeps ("ab", "c") apart from ("a", "bc").
        message = b"incrowd ledger\0" + len(name).to_bytes(8, "big") + name + provider.encode()
        return hmac.digest(self._secret, message, hashlib.sha256)

    def _horizon(self, now: float) -> float:
        """Return the latest time whose disclosures have expired."""
        return now - (1 + RENEW_AFTER) * self._time_to_live

    def _read(self, who: bytes) -> Past:
        rows = self._run(READ, who)
        now = self._store.check_progress(rows)
        recent, horizon = now - RENEW_AFTER * self._time_to_live, self._horizon(now)
        values: dict[str, set[str]] = {}
        renewed = set()
        for _, _, attribute, value, moment in rows:
            if moment is None or moment <= horizon:
                continue
            values.setdefault(attribute, set()).add(value)
            if moment > recent:
                renewed.add((attribute, value))
        return Past({attribute: frozenset(those) for attribute, those in values.items()}, renewed)

    def _write(self, who: bytes, provider: str, sent: Mapping[str, str]) -> None:
        for attribute, value in sent.items():
            _check_text("an attribute's name", attribute)
            _check_text(f"the value of {attribute}", value)
        if not sent:
            return
        now = self._store.mark_write()
        self._run("INSERT OR IGNORE INTO providers VALUES (?)", provider)
        for attribute, value in sent.items():
            self._run(REMEMBER, who, attribute, value, now)

    def _delete(self, statement: str, parameter: bytes | float) -> int:
        self._run(statement, parameter)
        return int(self._run("SELECT changes()")[0][0])

    def _run(self, statement: str, *parameters: object) -> list[Any]:
        return self._store.run(statement, *parameters)


def _check_text(name: str, text: str) -> None:
    """Refuse text that could not be stored and compared exactly."""
    if not isinstance(text, str):
        raise BadInputError(f"{name} must be text (got {type(text).__name__})")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInputError(f"{name} must be text without lone surrogates") from None
