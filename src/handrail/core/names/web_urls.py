"""URLs of the web: strict parsing, and which hosts and addresses a request may reach. No I/O.

A URL is accepted only if all parsers agree on its meaning; any other is refused, not repaired.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from handrail.core.names.hosts import HostList, is_address, normalize_address

MAX_URL: Final = 2_000
EVERY_PUBLIC_HOST: Final = "*"
# Ports of web servers; another port must be in the list of allowed hosts.
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)"
    r"(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?"
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_MAX_HOST: Final = 253
_MAX_PORT: Final = 65535
# Networks that embed an IPv4 address or belong to a site; some versions of Python treat them as public.
_NOT_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24"),
            # The platform service of a cloud; its address lies in a public range.
            "168.63.129.16/32",
            *("2001::/32", "2002::/16", "3fff::/20"),
        ),
    )
)
# All other IPv6 addresses are reserved, and some of them embed an IPv4 address.
_GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")


class WebUrl(NamedTuple):
    """A parsed URL. `host` is lower-case ASCII without a final dot, an IPv6 address without
    brackets; `target` is path and query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as in a URL; the default port of the scheme is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """The normalized URL."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def key(self) -> str:
        """The key of the host in footprints: `net:host`, with the port if it is neither 80 nor 443."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port in _DEFAULT_PORTS.values()
        return f"net:{host}" if usual else f"net:{host}:{self.port}"


def parse_web_url(text: str) -> WebUrl:
    """Parse an absolute http or https URL; raises ValueError with the reason."""
    if len(text) > MAX_URL:
        raise ValueError(f"the URL has more than {MAX_URL:,} characters")
    if any(char.isspace() or not char.isprintable() for char in text) or "\\" in text:
        raise ValueError("the URL contains a blank, a control character or a backslash")
    found = _URL.fullmatch(text)
    scheme = (text.partition(":")[0] if found is None else found["scheme"]).lower()
    if scheme not in _DEFAULT_PORTS:
        raise ValueError("only http:// and https:// URLs can be fetched")
    if found is None or not found["authority"]:
        raise ValueError("the URL has no host")
    if "@" in found["authority"]:
        raise ValueError("the URL contains a user name or a password")
    parts = _AUTHORITY.fullmatch(found["authority"])
    if parts is None:
        raise ValueError("the host or the port of the URL is invalid")
    port = _DEFAULT_PORTS[scheme] if parts["port"] is None else int(parts["port"])
    if not 0 < port <= _MAX_PORT:
        raise ValueError("the port of the URL is invalid")
    target = (found["path"] or "/") + (found["query"] or "")
    return WebUrl(scheme, _parse_host(parts["host"]), port, _encode_target(target))


def is_public_address(text: str) -> bool:
    """Whether an IP address, in any notation, belongs neither to this machine nor to a private or
    reserved network. Raises ValueError for text that is not an address.
    """
    address = ipaddress.ip_address(normalize_address(text))
    if any(address in network for network in _NOT_PUBLIC):
        return False
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast


class WebReach:
    """Decides which hosts requests may reach: those of `allow` (`*` is every public host) that are not
    in `deny`.

    An allowed entry `host:port` may also have an address of this machine or its network.
    """

    def __init__(
        self, allow: Iterable[str] = (EVERY_PUBLIC_HOST,), deny: Iterable[str] = ()
    ) -> None:
        """Raises ValueError for an invalid entry."""
        allow, deny = tuple(allow), tuple(deny)
        self._every = EVERY_PUBLIC_HOST in allow
        self.named = tuple(one for one in allow if one != EVERY_PUBLIC_HOST)
        self._allowed = HostList(self.named)
        # A denied name also denies its subdomains.
        below = [f"*.{one}" for one in deny if "." in one and not _is_specific(one)]
        self._denied = HostList([*deny, *below])

    def names(self, url: WebUrl) -> bool:
        """Whether an allowed entry is exactly the host and port of a URL."""
        return self._allowed.names(url.host, url.port)

    def find_refusal(self, url: WebUrl) -> str | None:
        """Why a URL must not be requested, judged by the URL alone; None if it may be."""
        if self._denied.names_host(url.host, url.port):
            return f"the host {url.host!r} is denied by the setting web.deny"
        if self._allowed.names(url.host, url.port):
            return None
        if not self._every and not self._allowed.allows(url.host, url.port):
            return f"the host {url.host!r} is not in the setting web.allow"
        if url.port not in WEB_PORTS:
            return f"port {url.port} is not a port of web servers"
        # These names mean this machine by definition, whatever a name server answers.
        known = ["127.0.0.1"] if f".{url.host}".endswith(".localhost") else [url.host]
        return self.find_address_refusal(url, known) if is_address(known[0]) else None

    def find_address_refusal(self, url: WebUrl, addresses: Sequence[str]) -> str | None:
        """Why a URL must not be requested at these addresses of its host; None if it may be."""
        if not addresses:
            return f"the host {url.host!r} has no address"
        if self._allowed.names(url.host, url.port):
            return None
        if all(map(is_public_address, addresses)):
            return None
        return f"the host {url.host!r} is part of this machine or a private network"


def _is_specific(entry: str) -> bool:
    return entry.startswith(("*", "[")) or is_address(entry) or ":" in entry


def _parse_host(text: str) -> str:
    if text.startswith("["):
        return normalize_address(str(ipaddress.IPv6Address(text[1:-1])))
    if not text.isascii():
        text = _encode_host(text)
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(_parse_ipv4(labels))
    if len(host) > _MAX_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("the host of the URL is invalid")
    return host


def _encode_host(text: str) -> str:
    """The ASCII form of an international name. Raises ValueError for a name with look-alikes of ASCII
    characters, or with characters that the versions of the standard encode differently.
    """
    if unicodedata.normalize("NFKC", text) != text:
        raise ValueError("the host of the URL is written with compatibility characters")
    try:
        encoded = text.encode("idna")
        same = encoded.decode("idna") == text.lower()
    except UnicodeError:
        raise ValueError("the host of the URL is invalid") from None
    if not same:
        raise ValueError("the host of the URL contains characters that programs read differently")
    return encoded.decode("ascii")


def _parse_ipv4(labels: Sequence[str]) -> ipaddress.IPv4Address:
    """The address of a host whose last label is a number, parsed by the rules of `inet_aton`."""
    if len(labels) > 4 or not all(map(_NUMBER.fullmatch, labels)):
        raise ValueError("the host of the URL is an invalid address")
    try:
        numbers = [_parse_number(label) for label in labels]
    except ValueError:
        raise ValueError("the host of the URL is an invalid address") from None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        raise ValueError("the host of the URL is an invalid address")
    value = last + sum(number << (24 - 8 * at) for at, number in enumerate(first))
    return ipaddress.IPv4Address(value)


def _parse_number(label: str) -> int:
    if label[:2].lower() == "0x":
        return int(label[2:], 16)
    return int(label, 8) if label.startswith("0") else int(label)


def _encode_target(target: str) -> str:
    """Path and query with all characters outside ASCII percent-encoded."""
    if target.isascii():
        return target
    return "".join(
        char if char.isascii() else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in target
    )
