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

What it does not promise
------------------------
Providers do not forget when entries expire, are forgotten, or become invisible because the secret changed:
from then on the person is protected as if new.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from incrowd.errors import BadInputError, IncrowdError
from incrowd.online.ledgerfile import (
    LedgerError,
    create_file,
    file_errors,
    open_file,
    private_identity,
    run,
)

__all__ = ["Ledger", "LedgerError", "Past", "Reservation"]

SHORTEST_SECRET = 16
RENEW_AFTER = 0.01  # of the time to live: what was told again within it need not be written again
# Asking for a value again counts from the later time, also when the clock was set back in between.
REMEMBER = """
INSERT INTO disclosures VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET disclosed_at = max(disclosed_at, excluded.disclosed_at)
"""


READ = "SELECT attribute, value, disclosed_at FROM disclosures WHERE who = ? AND disclosed_at > ?"
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
        The file, created with mode 0600 if there is none. It must be on a local file system.
    secret
        Key of the persons' HMACs, at least 16 bytes. Under another secret, old entries are invisible.
    time_to_live
        Seconds for which a disclosure counts at least (at most 1 % longer); ``math.inf`` for ever.
    clock
        Where the time comes from, in seconds.
    timeout
        Seconds to wait for others to release the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        secret: bytes,
        time_to_live: float,
        clock: Callable[[], float] = time.time,
        timeout: float = 5.0,
    ) -> None:
        if len(secret) < SHORTEST_SECRET:
            raise BadInputError(f"secret must have at least {SHORTEST_SECRET} bytes (got {len(secret)})")
        if not time_to_live > 0:
            raise BadInputError(f"time_to_live must be more than 0 seconds (got {time_to_live})")
        self._path = Path(path).absolute()
        self._secret = secret
        self._time_to_live = time_to_live
        self._clock = clock
        self._timeout = timeout
        self._turn = threading.Lock()
        self._process = os.getpid()
        with file_errors(self._path):
            if not self._path.exists():
                create_file(self._path)
            self._connection, self._identity = open_file(self._path, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the ledger cannot be used again."""
        self._connection.close()

    def disclosed(self, person: str, provider: str) -> Disclosed:
        """Return the values that the person disclosed to the provider and that have not expired."""
        return self.past(person, provider).disclosed

    def past(self, person: str, provider: str) -> Past:
        """Return what the person disclosed to the provider, and when, at one look."""
        who = self._key(person, provider)
        with self._my_turn():
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
                self._roll_back()  # so that a caller who swallows this cannot commit either
                raise

        with self._transaction():
            reservation = Reservation(self._read(who).disclosed, remember)
            try:
                yield reservation
            finally:
                reservation.end()

    def forget(self, person: str) -> int:
        """Erase a person at every provider, also from the file's bytes; return how many entries there were.

        Where another process is reading, the ``-wal`` file may keep old bytes until a later `forget` or `expire`.
        """
        with self._transaction():
            keys = [self._key(person, provider) for (provider,) in self._run("SELECT name FROM providers")]
            entries = sum(self._delete("DELETE FROM disclosures WHERE who = ?", key) for key in keys)
        self._overwrite_log()
        return entries

    def expire(self) -> int:
        """Erase what has expired, for everybody and every secret; return how many entries there were."""
        with self._transaction():
            entries = self._delete("DELETE FROM disclosures WHERE disclosed_at <= ?", self._horizon())
        self._overwrite_log()
        return entries

    def _key(self, person: str, provider: str) -> bytes:
        _check_text("person", person)
        _check_text("provider", provider)
        name = person.encode()
        # The length keeps ("ab", "c") apart from ("a", "bc").
        message = b"incrowd ledger\0" + len(name).to_bytes(8, "big") + name + provider.encode()
        return hmac.digest(self._secret, message, hashlib.sha256)

    def _horizon(self) -> float:
        """Return the latest time whose disclosures have expired."""
        return self._clock() - (1 + RENEW_AFTER) * self._time_to_live

    def _read(self, who: bytes) -> Past:
        lately = self._clock() - RENEW_AFTER * self._time_to_live
        values: dict[str, set[str]] = {}
        renewed = set()
        for attribute, value, moment in self._run(READ, who, self._horizon()):
            values.setdefault(attribute, set()).add(value)
            if moment > lately:
                renewed.add((attribute, value))
        return Past({attribute: frozenset(those) for attribute, those in values.items()}, renewed)

    def _write(self, who: bytes, provider: str, sent: Mapping[str, str]) -> None:
        for attribute, value in sent.items():
            _check_text("an attribute's name", attribute)
            _check_text(f"the value of {attribute}", value)
        now = self._clock()
        self._run("INSERT OR IGNORE INTO providers VALUES (?)", provider)
        for attribute, value in sent.items():
            self._run(REMEMBER, who, attribute, value, now)

    def _delete(self, statement: str, parameter: bytes | float) -> int:
        self._run(statement, parameter)
        return int(self._run("SELECT changes()")[0][0])

    def _overwrite_log(self) -> None:
        """Move the write-ahead log into the file and empty it, for it still holds what was deleted."""
        with self._my_turn():
            self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._my_turn():
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # some failures have rolled back by themselves
            with contextlib.suppress(LedgerError):
                self._run("ROLLBACK")

    @contextlib.contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Have the connection for one thread, if it still leads to the file at the path."""
        if os.getpid() != self._process:
            raise LedgerError(f"the ledger {self._path} was opened before a fork: open it in each process")
        if not self._turn.acquire(timeout=self._timeout):
            raise LedgerError(f"the ledger {self._path} is locked by another thread: try again")
        try:
            with file_errors(self._path):
                if private_identity(self._path) != self._identity:
                    raise LedgerError(f"the ledger {self._path} was replaced while in use: restart to use it")
            yield
        finally:
            self._turn.release()

    def _run(self, statement: str, *parameters: object) -> list[Any]:
        return run(self._connection, self._path, statement, *parameters)


def _check_text(name: str, text: str) -> None:
    """Refuse what could not be stored and compared exactly."""
    if not isinstance(text, str):
        raise BadInputError(f"{name} must be text (got {type(text).__name__})")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInputError(f"{name} must be text without lone surrogates") from None
