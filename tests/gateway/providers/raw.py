"""A provider on bare sockets, in threads of the test: it can send anything at any time.

Each answer has one row with the target of the request that it belongs to, so that an answer to another request shows.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time


def answer(target, head="HTTP/1.1 200 OK", extra=()):
    """Return an answer with the target of its request."""
    body = b'{"items": [{"target": "%s"}]}' % target.encode()
    lines = [head, f"Content-Length: {len(body)}", *extra, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Raw:
    """A provider that answers with `reply(target) -> pieces`, which may take their time."""

    def __init__(self, reply=None, greeting=b"", tls=None):
        self.reply = reply or (lambda target: [answer(target)])
        self.received = []  # (number of the connection, target)
        self.peers = []
        self.greeted = threading.Event()
        self._greeting = greeting
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/rows"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in [self._listener, *self.peers]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer):
        with contextlib.suppress(OSError, ValueError):
            peer = self._tls.wrap_socket(peer, server_side=True) if self._tls else peer
            self.peers.append(peer)
            number = len(self.peers)
            if self._greeting:
                peer.sendall(self._greeting)
                self.greeted.set()
            stream = peer.makefile("rb")
            while line := stream.readline():
                target = line.split()[1].decode()
                head = b"".join(iter(stream.readline, b"\r\n")).lower()
                if b"content-length:" in head:
                    stream.read(int(head.split(b"content-length:")[1].split()[0]))
                self.received.append((number, target))
                for piece in self.reply(target):
                    peer.sendall(piece)


def slowly(pieces):
    """Return pieces one by one, so that each arrives by itself."""
    for place, piece in enumerate(pieces):
        time.sleep(0.02 * bool(place))
        yield piece
