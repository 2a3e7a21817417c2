"""The only way out: every connection and every answer of a model server passes here.

1. A connection goes only to the server that the auditor named, and only to an address that was looked at first: the
   name is resolved here and the connection made to the number, so that a second answer of the name server changes
   nothing.
2. A request carries the headers listed here and no others: what libraries tell of this machine stays here, and the key
   goes to that server only.
3. An answer is cut off when it is too large or comes too slowly, while it is being read.
4. Redirects are not followed, and no proxy or password file of the environment is used.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2
import httpx2
from httpcore2 import ConnectError, ConnectionPool, NetworkBackend, NetworkStream, SyncBackend
from openai import OpenAIError
from pydantic import SecretStr

from auditlib.core import AuditError
from auditlib.models.endpoint.address import Address, is_private

LARGEST_ANSWER_BYTES = 32 << 20  # 20 alternatives at each of 8,192 tokens are about 15 MB of JSON
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 5.0
MOST_IDLE_CONNECTIONS = 64
HEADERS = frozenset({b"host", b"accept", b"content-type", b"content-length", b"connection"})


class RefusedError(OpenAIError):
    """What must not be done, or not go on. An error of the client's own family, so that the client lets it through."""

    def __init__(self, reason: AuditError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class GuardedNetwork(NetworkBackend):
    """Connections by TCP, to addresses of the open internet alone where private ones are forbidden."""

    def __init__(self, forbid_private: bool) -> None:
        self._forbid_private = forbid_private
        self._plain = SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        """To the first of the host's addresses that answers. Raises `RefusedError` where one of them is private."""
        if not self._forbid_private:
            return self._plain.connect_tcp(host, port, timeout, local_address, socket_options)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ConnectError(str(error)) from error
        addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
        if not addresses or any(is_private(address) for address in addresses):
            raise RefusedError(
                AuditError(
                    f"{host} is a machine of this network, and the operator has forbidden to send texts to such.",
                    "Choose a server on the internet, or have the operator unset AUDIT_FORBID_PRIVATE_NETWORK.",
                )
            )
        failure: Exception = ConnectError("no address")
        for address in addresses:
            try:
                return self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class GuardedTransport(httpx2.HTTPTransport):
    """HTTP over `GuardedNetwork`, to one server, with what is said above."""

    def __init__(self, address: Address, key: SecretStr | None, forbid_private: bool, seconds: float) -> None:
        super().__init__(trust_env=False)
        self._address = address
        self._key = key
        self._seconds = seconds
        # The library has no public way to give it a network; a test sees that this one is used.
        self._pool = ConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=None,  # how many there are is the model's own limit
            max_keepalive_connections=MOST_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=GuardedNetwork(forbid_private),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends one request; the answer's body is guarded while it is read."""
        until = time.monotonic() + self._seconds
        url = request.url
        port = url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
        if (url.scheme, url.host.lower(), port) != self._address.origin:
            raise RefusedError(
                AuditError("A request was about to leave the chosen server.", "Report this: it is a fault of ours.")
            )
        headers = [(name, value) for name, value in request.headers.raw if name.lower() in HEADERS]
        headers += [(b"user-agent", b"pretraining-audit"), (b"accept-encoding", b"identity")]
        if self._key is not None:
            headers.append((b"authorization", b"Bearer " + self._key.get_secret_value().encode("ascii", "replace")))
        guarded = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        response = super().handle_request(guarded)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            response.close()
            raise RefusedError(
                AuditError(
                    f"{self._address.host} packs its answers though it was asked not to.",
                    "Have compression switched off for this interface.",
                )
            )
        response.stream = _GuardedBody(response.stream, self._address.host, until, request)
        return response


class _GuardedBody(httpx2.SyncByteStream):
    """An answer's bytes while they come in."""

    def __init__(self, stream: Any, host: str, until: float, request: httpx2.Request) -> None:
        self._stream = stream
        self._host = host
        self._until = until
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for part in self._stream:
            read += len(part)
            if read > LARGEST_ANSWER_BYTES:
                raise RefusedError(
                    AuditError(
                        f"{self._host} answers with more than {LARGEST_ANSWER_BYTES >> 20} MiB, which no answer needs.",
                        "Check that the address is that of a model server.",
                    )
                )
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the answer comes too slowly", request=self._request)
            yield part

    def close(self) -> None:
        self._stream.close()


def guarded_client(address: Address, key: SecretStr | None, forbid_private: bool, seconds: float) -> httpx2.Client:
    """An HTTP client for one server. `seconds` is the longest that one answer may take."""
    return httpx2.Client(
        transport=GuardedTransport(address, key, forbid_private, seconds),
        timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        follow_redirects=False,
        trust_env=False,
    )
