"""Keys of servers: in the environment or in this process's memory, and nowhere else.

A key is looked up at the moment a connection is made. It is in no request, no identity, no error and no row, so none
of what is kept or shown can hold it.

A key of the environment goes only to servers that the environment names too: beside AUDIT_ENDPOINT_KEY stands
AUDIT_ENDPOINT_KEY_HOSTS, "api.example.org, http://127.0.0.1:8000". Else whoever may name an address on a page could
have the key sent to a server of their own. A key that was typed goes to the address it was typed for.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from auditlib.core import AuditError
from auditlib.models.endpoint.address import Address, checked_address

KEY_VARIABLE = "AUDIT_ENDPOINT_KEY"
# Only names made for this: else whoever names a variable could have any secret of the environment sent to a server.
KEY_VARIABLES = re.compile(r"AUDIT_[A-Z0-9_]{0,60}KEY")
HOSTS_SUFFIX = "_HOSTS"
FEWEST_HIDDEN = 4
HIDDEN = "[key]"


def checked_variable(name: str) -> str:
    """`name`, or `AuditError` where it may not name a key. The sentence does not repeat it: it may be the key."""
    if not KEY_VARIABLES.fullmatch(name):
        raise AuditError(
            "The name of the environment variable that holds the key must begin with AUDIT_ and end with KEY.",
            "Put the key into such a variable, AUDIT_ENDPOINT_KEY for instance, and give the variable's name.",
        )
    return name


@dataclass(frozen=True)
class FoundKey:
    """What is sent to a server as its key. `said` tells where it comes from, or why there is none: for people."""

    secret: SecretStr | None
    said: str
    remedy: str  # for when the server does not take it


class Keys:
    """Keys that people typed, by the address that they are for; gone when the process ends."""

    def __init__(self) -> None:
        self._by_url: dict[str, SecretStr] = {}
        self._touching = threading.Lock()

    def remember(self, base_url: str, key: str) -> None:
        """Takes a key for one server. Raises `AuditError` where it could not be sent."""
        url, key = checked_address(base_url).url, key.strip()
        if not key or not key.isascii() or not key.isprintable():
            raise AuditError(
                "What was given as a key is empty or has characters that no key has.",
                "Copy it again from where the server's owner shows it.",
            )
        with self._touching:
            self._by_url[url] = SecretStr(key)

    def forget(self, base_url: str) -> None:
        """Drops the key of one server."""
        with self._touching:
            self._by_url.pop(checked_address(base_url).url, None)

    def find(self, base_url: str, variable: str, environment: Mapping[str, str] | None = None) -> FoundKey:
        """The key for a server: what was typed for it, else what the environment holds for it, else none."""
        address = checked_address(base_url)
        typed_anew = "Type it anew on the Models page."
        with self._touching:
            typed = self._by_url.get(address.url)
        if typed is not None:
            return FoundKey(typed, "The key that was typed for this address is sent.", typed_anew)
        held = os.environ if environment is None else environment
        secret, hosts = held.get(checked_variable(variable), "").strip(), f"{variable}{HOSTS_SUFFIX}"
        if not secret:
            said = f"No key was typed, and {variable} holds none."
            return FoundKey(
                None, said, f"Type one on the Models page, or set {variable} and {hosts} before the worker is started."
            )
        if address.origin not in _origins(held.get(hosts, "")):
            said = f"The key in {variable} is not sent: {hosts} does not name this server."
            return FoundKey(None, said, f"Type a key on the Models page, or set {hosts} to {_shown(address)}.")
        return FoundKey(SecretStr(secret), f"The key in {variable} is sent.", f"Correct {variable}, or type another.")

    def __repr__(self) -> str:
        return f"Keys({len(self._by_url)} held)"


def _origins(hosts: str) -> set[tuple[str, str, int]]:
    """Scheme, host and port of each server in a list; one without a scheme is meant by https."""
    found = set()
    for one in hosts.split(","):
        if not one.strip():
            continue
        try:
            found.add(checked_address(one if "://" in one else f"https://{one.strip()}").origin)
        except AuditError:
            continue  # what names no server lets no key go anywhere
    return found


def _shown(address: Address) -> str:
    scheme, host, port = address.origin
    host = f"[{host}]" if ":" in host else host
    return host if (scheme, port) == ("https", 443) else f"{scheme}://{host}:{port}"


KEYS = Keys()


def without_key(said: str, key: SecretStr | None) -> str:
    """What a server said, with the key taken out wherever it repeats it, in whole or by its beginning or end."""
    if key is None:
        return said
    secret = key.get_secret_value()
    for length in (len(secret), *range(len(secret) - 1, max(FEWEST_HIDDEN, len(secret) // 4) - 1, -1)):
        said = said.replace(secret[:length], HIDDEN).replace(secret[-length:], HIDDEN)
    return said
