"""Keys of servers: in the environment or in this process's memory, and nowhere else.

A key is looked up at the moment a connection is made. It is in no request, no identity, no error and no row, so none
of what is kept or shown can hold it.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping

from pydantic import SecretStr

from auditlib.core import AuditError

KEY_VARIABLE = "AUDIT_ENDPOINT_KEY"
# Only names made for this: else whoever names a variable could have any secret of the environment sent to a server.
KEY_VARIABLES = re.compile(r"AUDIT_[A-Z0-9_]{0,60}KEY")
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


class Keys:
    """Keys that people typed, by the address that they are for; gone when the process ends."""

    def __init__(self) -> None:
        self._by_url: dict[str, SecretStr] = {}
        self._touching = threading.Lock()

    def remember(self, base_url: str, key: str) -> None:
        """Takes a key for one server. Raises `AuditError` where it could not be sent."""
        if not key.strip() or not key.strip().isascii() or not key.strip().isprintable():
            raise AuditError(
                "What was given as a key is empty or has characters that no key has.",
                "Copy it again from where the server's owner shows it.",
            )
        with self._touching:
            self._by_url[base_url.rstrip("/")] = SecretStr(key.strip())

    def forget(self, base_url: str) -> None:
        """Drops the key of one server."""
        with self._touching:
            self._by_url.pop(base_url.rstrip("/"), None)

    def find(self, base_url: str, variable: str, environment: Mapping[str, str] | None = None) -> SecretStr | None:
        """The key for a server: what was typed for it, else what the environment variable holds, else none."""
        with self._touching:
            typed = self._by_url.get(base_url.rstrip("/"))
        if typed is not None:
            return typed
        held = (os.environ if environment is None else environment).get(checked_variable(variable), "").strip()
        return SecretStr(held) if held else None

    def __repr__(self) -> str:
        return f"Keys({len(self._by_url)} held)"


KEYS = Keys()


def without_key(said: str, key: SecretStr | None) -> str:
    """What a server said, with the key taken out wherever it repeats it, in whole or by its beginning or end."""
    if key is None:
        return said
    secret = key.get_secret_value()
    for length in (len(secret), *range(len(secret) - 1, max(FEWEST_HIDDEN, len(secret) // 4) - 1, -1)):
        said = said.replace(secret[:length], HIDDEN).replace(secret[-length:], HIDDEN)
    return said
