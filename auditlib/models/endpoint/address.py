"""Where texts may be sent: what an address must look like, and which machines an operator can forbid."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from auditlib.core import AuditError

LONGEST_URL = 500
ODD_CHARACTERS = re.compile(r"[^\x21-\x7e]|[\\<>\"`{}|^]")
PORTS = {"http": 80, "https": 443}
# IPv6 addresses that carry an IPv4 one in their last four bytes, which is where a gateway takes them.
CARRIES_IPV4 = tuple(ipaddress.IPv6Network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96"))


@dataclass(frozen=True)
class Address:
    """A checked base URL: `url` ends without a slash and holds neither name nor password nor query."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        """What must stay the same for a request to stay with this server."""
        return self.scheme, self.host, self.port

    @property
    def is_this_machine(self) -> bool:
        """Whether it names the machine that asks, so that nothing travels."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_open_to_readers(self) -> bool:
        """Whether what is sent can be read on its way: no encryption, and another machine."""
        return self.scheme == "http" and not self.is_this_machine

    @property
    def root(self) -> str:
        """The URL without the version at its end: where servers keep what OpenAI's interface does not have."""
        return re.sub(r"/v\d+$", "", self.url)


def checked_address(url: str) -> Address:
    """`url` taken apart. Raises `AuditError` where it is no web address or carries more than one.

    The sentence never repeats the address: what makes it wrong may be a password.
    """
    wrong = "The address of the server is not one that can be used"
    remedy = "Give the base URL as the server's makers print it, such as http://localhost:8000/v1."
    url = url.strip()
    if not url or len(url) > LONGEST_URL or ODD_CHARACTERS.search(url):
        raise AuditError(f"{wrong}: it is empty, too long, or has characters that no address has.", remedy)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AuditError(f"{wrong}: its parts make no sense.", remedy) from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise AuditError(f"{wrong}: it must begin with http:// or https:// and name a machine.", remedy)
    if "@" in parts.netloc:
        raise AuditError(
            f"{wrong}: it holds a user name or a password.",
            "Take them out of the address; a key is given in the environment or typed where the page asks for it.",
        )
    if "?" in url or "#" in url:
        raise AuditError(
            f"{wrong}: it holds a query or a fragment, which would be kept with every result.",
            "Take away the ? or # and what follows; a key is given in the environment.",
        )
    return Address(url.rstrip("/"), parts.scheme, parts.hostname.lower(), port or PORTS[parts.scheme])


def is_private(address: str) -> bool:
    """Whether a numeric address belongs to this machine, its network, or nobody: whatever is not the open internet.

    Also true where an IPv6 address stands for such an IPv4 one (mapped, 6to4, Teredo, NAT64).
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if ip.version == 4:
        return not ip.is_global or ip.is_multicast
    inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    if any(ip in network for network in CARRIES_IPV4):
        inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
    if inner := [one for one in inner if one is not None]:
        return any(not one.is_global for one in inner)
    return not ip.is_global or ip.is_multicast
