"""The paths whose loss or change is a catastrophe, and whether a path reaches one.

A path is checked as written and with its links followed. Files below a root belong to the
workspace, wherever the root is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Final

from handrail.core.commands import ExecutionContext
from handrail.shell.expand import UNKNOWN, UNSET, plain_text
from handrail.shell.tables.word_list import word_set

# A system does not start, or forgets what it is for, without one of these.
_TOPS: Final = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt"),
    *("nix", "opt", "proc", "root", "run", "sbin", "snap", "srv", "sys", "usr", "var"),
    *("backup", "backups", "data", "export", "storage", "selinux"),
    *("Applications", "Library", "Network", "System", "Users", "Volumes", "private"),
)
_BELOW: Final = (
    *("var/lib", "var/log", "var/spool", "var/mail", "var/db", "var/backups", "var/www"),
    *("private/etc", "private/var", "mnt/c", "mnt/c/Windows", "mnt/c/Users"),
)
# Whoever serves something keeps each thing in a directory of its own in these.
_SERVED: Final = (
    *(("srv",), ("mnt",), ("media",), ("Volumes",), ("backup",), ("backups",)),
    *(("var", "www"), ("var", "backups"), ("var", "mail")),
)
# Services whose data is lost with any directory below `/var/lib`.
_SERVICES: Final = re.compile(
    r"postgres\w*|pgsql|mysql\w*|mariadb|mongo\w*|redis|valkey|elasticsearch|opensearch|docker|containers?|containerd"
    r"|etcd|rabbitmq|influxdb\d?|grafana|prometheus|cassandra|scylla|clickhouse\w*|neo4j|couchdb|openldap|samba|libvirt"
    r"|kubelet|rancher|gitlab|jenkins|minio|ceph|vault|consul|nomad|zookeeper|kafka|solr|nats|gitea|nextcloud|lxc|lxd|incus"
    r"|machines|portables|pgbackrest|barman|bacula|restic"
)
# Everything in these belongs to the system, not only the directory as a whole.
_SYSTEM: Final = word_set("""
    bin boot efi etc lib lib32 lib64 libx32 proc sbin sys usr selinux System
""")
_SYSTEM_BELOW: Final = (
    *(("private", "etc"), ("var", "spool", "cron"), ("var", "lib", "dpkg"), ("var", "log")),
)
# What users keep in the home directory and cannot restore.
_KEPT: Final = (
    *(".ssh", ".gnupg", ".aws", ".kube", ".config", ".local", ".password-store", ".mozilla"),
    *("Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures", "Videos"),
)
_PRIVATE_KEY: Final = re.compile(
    r"\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|identity)|\.gnupg/private-keys.*|\.config/sops/age/keys\.txt"
    r"|\.age/.*|\.password-store/.*|\.local/share/keyrings/.*|Library/Keychains/.*|\.bitcoin/wallet.*|\.ethereum/keystore/.*"
)
# Keys and credentials: whoever has them can log in as the user.
_SECRET_STORES: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".mozilla", ".netrc"),
    *(".git-credentials", ".pypirc", ".npmrc", ".pgpass", ".docker/config.json", ".config/gcloud"),
    *(".config/gh", ".local/share/keyrings", ".config/google-chrome", ".vault-token"),
)
_PUBLIC: Final = re.compile(r".*\.pub|known_hosts.*|config|authorized_keys.*")
_MACHINE_SECRETS: Final = re.compile(
    r"/etc/(?:g?shadow-?|sudoers|ssh/ssh_host_\w+_key)|/proc/(?:\d+|self)/environ|/(?:var/)?run/secrets(?:/.*)?"
)
# What a user has typed; nothing but wiping traces empties it.
_HISTORIES: Final = re.compile(r"\.(?:\w+_)?hist(?:ory|file)")
_ROOT_FILES: Final = frozenset(("swapfile", "swap.img", "vmlinuz", "initrd.img", "init"))
_HARMLESS_DEVICES: Final = word_set("""
    null zero full random urandom tty stdin stdout stderr console fd pts shm tcp udp ptmx mqueue
""")
_GLOB: Final = "*?["
_ALL_BUT: Final = re.compile(r"\^.+|\*~.+")
_DEEPEST: Final = 64


class CriticalPaths:
    """The critical paths around one workspace."""

    def __init__(self, where: ExecutionContext) -> None:
        self._where = where
        self._roots = tuple(_parts(root) for root in where.roots)
        home = _parts(where.home)
        self._user_paths = (home, *((*home, name) for name in _KEPT)) if home else ()
        self._machine = (*((top,) for top in _TOPS), *(_parts(path) for path in _BELOW))

    def critical_loss(self, field: str, cwd: str | None, *, follow: bool = False) -> str | None:
        """What is lost if the path and everything below it is deleted; None if nothing critical is.

        `follow`: a link at the end of the path is followed.
        """
        if UNSET in field:
            emptied = field.replace(UNSET, "")
            for parts in self._ways(emptied, None, follow=follow) if emptied[:1] == "/" else ():
                what = self._lost(parts)
                if what is not None:
                    return f"{what}, should the variable be empty"
        for parts in self._ways(field, cwd, follow=follow):
            what = self._lost(parts)
            if what is not None:
                return what
        return None

    def system_target(self, field: str, cwd: str | None, *, follow: bool = True) -> str | None:
        """The system file or device that a write to the path would change; None if there is none."""
        for parts in self._ways(field, cwd, follow=follow):
            if not self._inside(parts) and self._is_system(parts):
                return "/" + "/".join(map(plain_text, parts))
        return None

    def is_repository(self, field: str, cwd: str | None) -> bool:
        """Whether the path is where a root keeps the history of its repository."""
        stores = [(".git",), (".git", "objects"), (".git", "refs"), (".git", "objects", "pack")]
        stores += [(".hg",), (".hg", "store"), (".jj",)]
        for parts in self._ways(field, cwd, follow=False):
            for root, store in product(self._roots, stores):
                # Without a dot of its own a glob matches no name that begins with one.
                first = parts[len(root)] if len(parts) > len(root) else ""
                # Few repositories are of another kind: a glob does not mean those.
                named = first[:1] == "." and (store[0] == ".git" or not _computed(first))
                wild = len(parts) > len(root) + 1 and is_wildcard(parts[-1])
                below = parts[:-1] if wild else parts
                whole = (*root, *store)
                if named and len(below) == len(whole) and _takes(below, whole):
                    return True
        return False

    def is_root(self, field: str, cwd: str | None) -> bool:
        """Whether the path is a root of the workspace."""
        path = _absolute(field, cwd)
        return path is not None and tuple(_normal(path)) in self._roots

    def is_in_workspace(self, field: str, cwd: str | None) -> bool:
        """Whether the field names something inside the workspace."""
        path = _absolute(field, cwd)
        return path is not None and self._inside(_normal(path))

    def holds_secrets(self, field: str, cwd: str | None) -> bool:
        """Whether the path names the keys of a user or of the machine, or a directory with them."""
        return any(
            not self._inside(parts) and self._is_secret(parts)
            for parts in self._ways(field, cwd, follow=True)
        )

    def is_private_key(self, field: str, cwd: str | None) -> bool:
        """Whether the path is a user's own key, which nobody can make again."""
        return any(
            tuple(parts[: len(home)]) == tuple(home)
            and _PRIVATE_KEY.fullmatch("/".join(parts[len(home) :])) is not None
            for parts in self._ways(field, cwd, follow=False)
            for home in self._homes(parts)
        )

    def expand_home(self, text: str) -> str:
        """Text of another language with the home directory expanded."""
        for start in ("~", "$HOME", "${HOME}"):
            if text == start or text.startswith(f"{start}/"):
                return self._where.home + text[len(start) :]
        return text

    def is_disk(self, field: str) -> bool:
        """Whether the field names a device that holds data."""
        return _is_device(_split(field)) if field.startswith("/") else False

    def _ways(self, field: str, cwd: str | None, *, follow: bool) -> Iterator[Sequence[str]]:
        path = _absolute(field, cwd)
        if path is None:
            return
        parts = _normal(path)
        yield parts
        if is_stream(parts):
            return
        really = self._resolved(path, follow=follow or path.endswith("/"))
        if really != parts:
            yield really

    def _resolved(self, path: str, *, follow: bool) -> Sequence[str]:
        """The path with the links in its literal beginning followed."""
        names = [one for one in path.split("/") if one]
        known = 0
        while known < len(names) and not _computed(names[known]):
            known += 1
        if known == len(names) and not follow and known:
            known -= 1
        start = self._where.resolve("/" + plain_text("/".join(names[:known])))
        return _normal("/".join((start, *names[known:])))

    def _lost(self, parts: Sequence[str]) -> str | None:
        # `^name` and `*~name` of zsh: everything but the name.
        parts = ["*" if _ALL_BUT.fullmatch(one) else one for one in parts]
        if all(map(is_wildcard, parts)):
            return "the whole file system"
        if any(_covers(parts, root) for root in self._roots if root):
            return "the directories around the workspace"
        if any(_takes(parts, dear) for dear in self._user_paths) or self._is_dear(parts):
            return "/" + "/".join(map(plain_text, parts))
        # Deleting all that is in a directory is deleting the directory; /tmp is meant for it.
        if is_wildcard(parts[-1]) and tuple(parts[:-1]) != ("tmp",):
            return self._lost(parts[:-1])
        return None

    def _is_dear(self, parts: Sequence[str]) -> bool:
        if self._inside(parts):
            return False
        if any(_takes(parts, dear) for dear in self._machine) or tuple(parts) == ("tmp",):
            return True
        return _keeps_data(parts) or _is_home(parts) or self._is_system(parts)

    def _is_secret(self, parts: Sequence[str]) -> bool:
        if _MACHINE_SECRETS.fullmatch("/" + "/".join(parts)):
            return True
        if parts and _HISTORIES.fullmatch(parts[-1]):
            return True
        home = next((one for one in self._homes(parts) if _takes(parts[: len(one)], one)), None)
        if home is None:
            return False
        below = parts[len(home) :]
        if below[:1] == [".ssh"] and len(below) > 1 and _PUBLIC.fullmatch(below[-1]):
            return False
        if not below or (len(below) == 1 and is_wildcard(below[0])):
            return True
        # A glob matches a name that begins with a dot only if it begins with one itself.
        hidden = below[0].startswith(".")
        return any(
            _takes(below, store) or (hidden and _takes(below[: len(store)], store))
            for store in map(_parts, _SECRET_STORES)
        )

    def _is_history(self, parts: Sequence[str]) -> bool:
        in_home = any(tuple(parts[:-1]) == tuple(home) for home in self._homes(parts))
        return in_home and _HISTORIES.fullmatch(parts[-1]) is not None

    def _homes(self, parts: Sequence[str]) -> Iterator[Sequence[str]]:
        """The home directories that may contain the path: the user's, and others' by their place."""
        if self._user_paths:
            yield self._user_paths[0]
        if parts[:1] == ["root"]:
            yield parts[:1]
        if parts and parts[0] in ("home", "Users") and len(parts) > 1:
            yield parts[:2]

    def _inside(self, parts: Sequence[str]) -> bool:
        return any(root and tuple(parts[: len(root)]) == root for root in self._roots)

    def _is_system(self, parts: Sequence[str]) -> bool:
        if not parts:
            return True
        if parts[0] == "dev":
            return _is_device(parts)
        if tuple(parts[:3]) == ("proc", "self", "fd"):
            return False
        if _grants_login(parts) or self._is_history(parts):
            return True
        if len(parts) == 1 and parts[0] in _ROOT_FILES:
            return True
        below = any(tuple(parts[: len(one)]) == one for one in _SYSTEM_BELOW)
        return below or any(_fits(top, parts[0]) for top in _SYSTEM)


def _keeps_data(parts: Sequence[str]) -> bool:
    """Whether a directory is all that one service keeps: a database, a site, the images of containers."""
    if tuple(parts[:2]) == ("var", "lib"):
        service = parts[2] if len(parts) > 2 else ""
        return len(parts) == 3 or _SERVICES.fullmatch(service) is not None
    return tuple(parts[:-1]) in _SERVED and not _unknown(parts[-1])


def _grants_login(parts: Sequence[str]) -> bool:
    return parts[-2:-1] == [".ssh"] and parts[-1].startswith("authorized_keys")


def is_stream(parts: Sequence[str]) -> bool:
    """Whether the path is a stream of the process that opens it."""
    if tuple(parts[:3]) == ("proc", "self", "fd"):
        return len(parts) == 4
    if tuple(parts[:2]) == ("dev", "fd"):
        return len(parts) == 3
    return tuple(parts) in (("dev", "stdin"), ("dev", "stdout"), ("dev", "stderr"))


def is_wildcard(name: str) -> bool:
    """Whether a name matches anything: `*`, `.*`, `?*`, `[a-z]*`."""
    rest, active = name, False
    while rest:
        if rest[0] in "*?":
            active = True
        elif rest[0] == "[":
            closing = rest.find("]", 2)
            if closing < 0:
                return False
            rest, active = rest[closing:], True
        elif rest[0] != ".":
            return False
        rest = rest[1:]
    return active


def _covers(parts: Sequence[str], root: Sequence[str]) -> bool:
    """Whether the path is above the root, or a glob that matches the root."""
    if not _takes(parts, root):
        return False
    return len(parts) < len(root) or any(_computed(one) for one in parts)


def _takes(parts: Sequence[str], dear: Sequence[str]) -> bool:
    """Whether deleting `parts` deletes the critical path `dear`."""
    if not parts or len(parts) > len(dear):
        return False
    return all(_fits(have, one) for one, have in zip(parts, dear, strict=False))


def _fits(name: str, pattern: str) -> bool:
    # Without a glob no pattern is compiled: a command may name thousands of files.
    return name == pattern or (_computed(pattern) and fnmatchcase(name, fnmatch_pattern(pattern)))


def fnmatch_pattern(name: str) -> str:
    """The name as a pattern of `fnmatch`; inactive glob characters are escaped."""
    escaped = {"\ue000": "[*]", "\ue001": "[?]", "\ue002": "[[]"}
    return "".join(escaped.get(char, char) for char in name)


def _is_home(parts: Sequence[str]) -> bool:
    return len(parts) == 2 and parts[0] in ("home", "Users") and not _unknown(parts[1])


def _is_device(parts: Sequence[str]) -> bool:
    if not parts or parts[0] != "dev":
        return False
    return len(parts) > 1 and parts[1] not in _HARMLESS_DEVICES and parts[1][:3] != "tty"


def _absolute(field: str, cwd: str | None) -> str | None:
    if field.startswith(("/", "//")):
        return field
    if cwd is None or not field or _unknown(field[0]):
        return None
    return f"{cwd}/{field}"


def _normal(path: str) -> list[str]:
    parts: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del parts[-1:]
        elif name not in ("", "."):
            parts.append(name)
    return parts[:_DEEPEST]


def _split(field: str) -> list[str]:
    return [one for one in field.split("/") if one not in ("", ".")]


def _parts(path: str) -> tuple[str, ...]:
    return tuple(one for one in path.split("/") if one)


def _computed(name: str) -> bool:
    return any(char in name for char in _GLOB) or _unknown(name)


def _unknown(text: str) -> bool:
    return UNKNOWN in text or UNSET in text
