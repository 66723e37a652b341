"""Lists of hosts that commands may reach: `example.org`, `*.example.org`, `host:port`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

# The ports of an entry without a port: HTTP and HTTPS.
_WEB_PORTS: Final = (80, 443)
_MAX_PORT: Final = 65535
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_WILD: Final = "*."
# The host and port of a URL.
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#@\s]+)(?:[/?#].*)?")
# The longest name of a host.
_MAX_HOST: Final = 253
# IPv6 addresses that represent an IPv4 address (NAT64).
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")


class HostEntry(NamedTuple):
    """One entry of a list of hosts. `name` is lower-case. `below`: the entry matches only subdomains
    of `name`. `port` None stands for the ports of HTTP and HTTPS.
    """

    name: str
    port: int | None = None
    below: bool = False


def parse_host_entry(text: str) -> HostEntry:
    """Parse an entry of a list of hosts; raises ValueError with the reason."""
    if (url := _URL.fullmatch(text)) is not None:
        parse_host_entry(url[1])
        raise ValueError(f'{text!r} is not a host name; write "{url[1]}"')
    name, port = split_host(text)
    below = name.startswith(_WILD)
    host = name.removeprefix(_WILD)
    if not is_address(host) and not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is not a host name, such as example.org or *.example.org")
    if below and (is_address(host) or "." not in host):
        raise ValueError(f"{text!r} matches too many hosts")
    return HostEntry(host, port, below)


def split_host(text: str) -> tuple[str, int | None]:
    """Split `host`, `host:port`, `[address]` or `[address]:port` into host and port; the host is in
    lower case and without a final dot. Raises ValueError for other texts.
    """
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:@/\s]+))(?::([0-9]{1,5}))?", text)
    if found is None or len(found[1] or found[2]) > _MAX_HOST:
        raise ValueError(f"{text[:_MAX_HOST]!r} is not a host")
    port = None if found[3] is None else int(found[3])
    if port is not None and not 0 < port <= _MAX_PORT:
        raise ValueError(f"{text!r} has no valid port")
    if found[1] is not None:
        return normalize_address(found[1]), port
    return found[2].lower().removesuffix("."), port


def normalize_address(text: str) -> str:
    """The normal form of an IP address. An IPv6 form of an IPv4 address becomes the IPv4 address, so
    that it cannot be used to evade an entry. Raises ValueError if the text is not an address.
    """
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        if address in _TRANSLATED:
            return str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return str(address)


def is_address(host: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def suggest_entry(host: str, port: int, *, local: bool = False) -> str:
    """Return the entry that allows a host (in the form of `split_host`) at a port. A `local` host
    belongs to this machine or its network, as every address and `localhost` may.
    """
    shown = f"[{host}]" if ":" in host else host
    local = local or is_address(host) or host.rpartition(".")[2] == "localhost"
    return f"{shown}:{port}" if local or port not in _WEB_PORTS else shown


class HostList:
    """The hosts that may be reached."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises ValueError for an invalid entry."""
        self._entries = tuple(map(parse_host_entry, entries))

    def allows(self, host: str, port: int) -> bool:
        """Whether a host (in the form of `split_host`) may be reached at a port."""
        return any(
            _matches(entry, host)
            and (port in _WEB_PORTS if entry.port is None else port == entry.port)
            for entry in self._entries
        )

    def names(self, host: str, port: int) -> bool:
        """Whether an entry is exactly this host and port; such an entry also allows the host to have
        an address of this machine or its network.
        """
        return HostEntry(host, port) in self._entries

    def names_host(self, host: str, port: int) -> bool:
        """Whether an entry matches this host and port; an entry without a port matches every port."""
        return any(_matches(entry, host) and entry.port in (None, port) for entry in self._entries)

    def knows(self, host: str) -> bool:
        """Whether an entry matches this host at some port. Other texts than hosts are not known."""
        try:
            name, _ = split_host(f"[{host}]" if ":" in host else host)
        except ValueError:
            return False
        return any(_matches(entry, name) for entry in self._entries)


def _matches(entry: HostEntry, host: str) -> bool:
    if entry.below:
        return host.endswith(f".{entry.name}") and _NAME.fullmatch(host) is not None
    return host == entry.name
