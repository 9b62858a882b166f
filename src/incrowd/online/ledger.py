"""What each person has already told each provider, so that linked queries stay private together.

Two queries that are private one by one may single a person out when the provider puts them side by side.
The ledger remembers every (attribute, value as sent) pair, so that the policy can be asked of the union.
It fails closed: a pair is on the disk before the query may leave, and if it cannot be written, a
`LedgerError` says so in one line and nothing may be sent.

What somebody who steals the file learns
----------------------------------------
Persons are stored as HMAC-SHA256 under the secret, of the person *and* the provider: without the secret nobody
is named, no name can be tried out, and one person's rows for two providers carry different keys.
Attributes, values, times and the list of providers are in clear: the union must be evaluated, so the values
are needed back, and the standard library has no encryption. A thief therefore sees, for each key, what one
provider was sent, which the policy has kept from giving the protected attributes away; it still may
describe a person well enough to be recognised, and equal times may link the keys of two providers.
With the secret as well, a thief can look up any person by name: keep the secret elsewhere. The file
and its ``-wal`` and ``-shm`` companions have mode 0600, and one that others may read is refused.

How it is not lost in silence
-----------------------------
A ledger is made by `incrowd.online.ledgermaking.create_ledger` alone. Its marker in another place knows how far it has come
(`ledgermarker.py`); a ledger that is gone, is another one or is older than that is a `LedgerError`. Its time cannot be
hurried by setting the clock (`ledgerclock.py`). It can be used with the secret it was made with, and no other.

What it does not promise
------------------------
Providers do not forget when entries expire or are forgotten: from then on the person is protected as if new. Who may
write to the file and its marker can take entries away, or restore both from the same day.
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
from incrowd.online.ledgerclock import LedgerClock, steady_seconds
from incrowd.online.ledgerfile import LedgerError
from incrowd.online.ledgermaking import check_secret
from incrowd.online.ledgerstore import LedgerStore, News

__all__ = ["Ledger", "LedgerError", "News", "Past", "Reservation"]

CHECK_INTERVAL = 2.0
"""Seconds for which a proof that the ledger can be written holds."""
RENEW_AFTER = 0.01  # of the time to live: what was told again within it need not be written again
# Asking for a value again counts from the later time, also when the clock was set back in between.
REMEMBER = """
INSERT INTO disclosures VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET disclosed_at = max(disclosed_at, excluded.disclosed_at)
"""


# One statement, so that what is read and what the ledger says of itself are of one moment.
READ = """
SELECT sequence, time, attribute, value, disclosed_at FROM meta LEFT JOIN disclosures ON who = ?
"""
Disclosed = dict[str, frozenset[str]]


class Past(NamedTuple):
    """What a provider has been told: attribute to values, and the pairs that were told lately."""

    disclosed: Disclosed
    lately: set[tuple[str, str]]

    def covers(self, sent: Mapping[str, str]) -> bool:
        """Tell whether all of it was disclosed so lately that it need not be written again."""
        return self.lately >= sent.items()


class Reservation:
    """One person's turn at one provider, while every other reservation waits; made by `Ledger.reserving`.

    Attributes
    ----------
    disclosed
        What the provider had been told when the reservation began: attribute to values.
    """

    def __init__(self, disclosed: Disclosed, remember: Callable[[Mapping[str, str]], None]) -> None:
        self.disclosed = disclosed
        self._remember: Callable[[Mapping[str, str]], None] | None = remember

    def disclose(self, sent: Mapping[str, str]) -> None:
        """Remember what is about to be sent; it is safe on the disk when the ``with`` block has ended."""
        if self._remember is None:
            raise LedgerError("the reservation is over: disclose inside its with block")
        self._remember(sent)

    def end(self) -> None:
        """Let no more be disclosed."""
        self._remember = None


class Ledger:
    """A file that remembers what was disclosed, shared by the threads and processes that open it.

    Calls wait for the disk and for each other: in an event loop, make them in a worker thread. Each
    process opens the file for itself, after it was forked.

    Parameters
    ----------
    path
        The file, made by `create_ledger`. It must be on a local file system.
    marker
        Its marker, made with it.
    secret
        Key of the persons' HMACs, the one that the ledger was made with.
    time_to_live
        Seconds for which a disclosure counts at least (at most 1 % longer); ``math.inf`` for ever.
    clock, steady
        Where the time comes from, and a clock that cannot be set; in seconds.
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
        """Close the file; the ledger cannot be used again."""
        self._store.close()

    def disclosed(self, person: str, provider: str) -> Disclosed:
        """Return the values that the person disclosed to the provider and that have not expired."""
        return self.past(person, provider).disclosed

    def past(self, person: str, provider: str) -> Past:
        """Return what the person disclosed to the provider, and when, at one look."""
        who = self._key(person, provider)
        with self._store:
            return self._read(who)

    def disclose(self, person: str, provider: str, sent: Mapping[str, str]) -> None:
        """Put what is about to be sent on the disk, all or nothing; send it only after this returns."""
        with self.reserving(person, provider) as reservation:
            reservation.disclose(sent)

    @contextlib.contextmanager
    def reserving(self, person: str, provider: str) -> Iterator[Reservation]:
        """Read, decide and disclose with nobody in between; send only after the ``with`` block.

        The block's end commits to the disk; an exception in it takes everything back. All other writers wait,
        whoever they write for, so decide in the block but never send in it.
        """
        who = self._key(person, provider)

        def remember(sent: Mapping[str, str]) -> None:
            try:
                self._write(who, provider, sent)
            except IncrowdError:
                self._store.roll_back()  # so that a caller who swallows this cannot commit either
                raise

        with self._store.transaction():
            reservation = Reservation(self._read(who).disclosed, remember)
            try:
                yield reservation
            finally:
                reservation.end()

    def forget(self, person: str) -> int:
        """Erase a person at every provider, also from the file's bytes; return how many entries there were.

        Where another process is reading, the ``-wal`` file may keep old bytes until a later `forget` or `expire`.
        """
        with self._store.transaction():
            self._store.look()
            keys = [self._key(person, provider) for (provider,) in self._run("SELECT name FROM providers")]
            entries = sum(self._delete("DELETE FROM disclosures WHERE who = ?", key) for key in keys)
        self._store.checkpoint("TRUNCATE")  # for the log still holds what was deleted
        return entries

    def expire(self) -> int:
        """Erase what has expired, for everybody; return how many entries there were."""
        with self._store.transaction():
            horizon = self._horizon(self._store.look())
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
                self._store.look()
            self._checked = time.monotonic()

    def news(self) -> News:
        """Return what has happened since this was last called."""
        return self._store.news()

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
        now = self._store.noticed(rows)
        lately, horizon = now - RENEW_AFTER * self._time_to_live, self._horizon(now)
        values: dict[str, set[str]] = {}
        renewed = set()
        for _, _, attribute, value, moment in rows:
            if moment is None or moment <= horizon:
                continue
            values.setdefault(attribute, set()).add(value)
            if moment > lately:
                renewed.add((attribute, value))
        return Past({attribute: frozenset(those) for attribute, those in values.items()}, renewed)

    def _write(self, who: bytes, provider: str, sent: Mapping[str, str]) -> None:
        for attribute, value in sent.items():
            _check_text("an attribute's name", attribute)
            _check_text(f"the value of {attribute}", value)
        if not sent:
            return
        now = self._store.will_write()
        self._run("INSERT OR IGNORE INTO providers VALUES (?)", provider)
        for attribute, value in sent.items():
            self._run(REMEMBER, who, attribute, value, now)

    def _delete(self, statement: str, parameter: bytes | float) -> int:
        self._run(statement, parameter)
        return int(self._run("SELECT changes()")[0][0])

    def _run(self, statement: str, *parameters: object) -> list[Any]:
        return self._store.run(statement, *parameters)


def _check_text(name: str, text: str) -> None:
    """Refuse what could not be stored and compared exactly."""
    if not isinstance(text, str):
        raise BadInputError(f"{name} must be text (got {type(text).__name__})")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInputError(f"{name} must be text without lone surrogates") from None
