"""The paths whose loss or change is a catastrophe, and whether a path reaches one.

A path is checked as written and with its links followed. Files below a root belong to the
workspace, wherever the root is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from handrail.core.commands import ExecutionContext
from handrail.shell.expand import UNKNOWN, UNSET, plain_text
from handrail.shell.tables import critical_places as places

_GLOB: Final = "*?["
_ALL_BUT: Final = re.compile(r"\^.+|\*~.+")
_DEEPEST: Final = 64


class CriticalPaths:
    """The critical paths around one workspace."""

    def __init__(self, where: ExecutionContext) -> None:
        self._where = where
        self._roots = tuple(_parts(root) for root in where.roots)
        home = _parts(where.home)
        self._user_paths = (home, *((*home, name) for name in places.KEPT)) if home else ()
        self._machine = (*((top,) for top in places.TOPS), *(_parts(path) for path in places.BELOW))

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
        """Whether the path is where a root, or a repository outside of it, keeps its history."""
        return self._is_foreign_repository(field, cwd) or any(
            self._is_store(parts[len(root) :])
            for parts in self._ways(field, cwd, follow=False)
            for root in self._roots
            if len(parts) > len(root) and _takes(parts[: len(root)], root)
        )

    def _is_foreign_repository(self, field: str, cwd: str | None) -> bool:
        """Whether the path is the history of a repository outside of the workspace, or several."""
        return any(
            parts[-1] in (".git", ".hg", ".jj", ".bzr") or parts[-1] == "*.git"
            for parts in self._ways(field, cwd, follow=False)
            if len(parts) > 1 and parts[0] not in places.SCRATCH and not self._inside(parts)
        )

    def _is_store(self, below: Sequence[str]) -> bool:
        """Whether a path below a root is a store of its history, or a glob for all files of one."""
        # Without a dot of its own a glob matches no name that begins with one. Few repositories are
        # of another kind than git: a glob does not mean those.
        if below[0][:1] != "." and below[0] != "_darcs":
            return False
        if _computed(below[-1]) and below[0] == ".git":
            files = [one for one in places.HISTORY_FILES if len(one) == len(below)]
            if any(_takes(below, one) for one in files):
                return True
        whole = below[:-1] if len(below) > 1 and is_wildcard(below[-1]) else below
        return any(
            len(whole) == len(store) and _takes(whole, store)
            for store in places.REPOSITORIES
            if store[0] == ".git" or not _computed(below[0])
        )

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
        """Whether the path is a user's own key, which nobody can make again, or a directory of such keys."""
        return any(
            len(parts) > len(home)
            and tuple(parts[: len(home)]) == tuple(home)
            and _names_key(parts[len(home) :])
            for parts in self._ways(field, cwd, follow=False)
            for home in self._homes(parts)
        )

    def is_top_directory(self, field: str, cwd: str | None) -> bool:
        """Whether the path is a whole directory at the top of the file system.

        It was there before the workspace: only what is there for a while may go.
        """
        for parts in self._ways(field, cwd, follow=False):
            rest = parts[:-1] if len(parts) == 2 and is_wildcard(parts[1]) else parts
            named = len(rest) == 1 and not _computed(rest[0]) and "." not in rest[0]
            if named and rest[0] not in places.SCRATCH and not self._inside(rest):
                return True
        return False

    def irreplaceable(self, field: str, cwd: str | None) -> str | None:
        """What is lost for good if the path is deleted; None for what can be made again."""
        what = self.critical_loss(field, cwd)
        if what is None and (self.is_private_key(field, cwd) or self.is_top_directory(field, cwd)):
            what = plain_text(field)
        return what

    def is_service_data(self, field: str, cwd: str | None) -> bool:
        """Whether the path is in a directory where a service of the machine keeps its data."""
        return any(
            tuple(parts[:2]) == ("var", "lib") and len(parts) > 2 and _keeps_data(parts)
            for parts in self._ways(field, cwd, follow=False)
            if not self._inside(parts)
        )

    def is_site(self, field: str, cwd: str | None) -> bool:
        """Whether the path is a directory that a server shows: a deployment fills it again."""
        return any(
            tuple(parts[:-1]) in places.SITES for parts in self._ways(field, cwd, follow=False)
        )

    def keeps_backups(self, field: str, cwd: str | None) -> bool:
        """Whether the path is where backups of the machine are kept, or below it."""
        return any(
            tuple(parts[: len(place)]) == place
            or (parts[:1] in places.MOUNTED and parts[1:2] in places.BACKUP_NAMES)
            for parts in self._ways(field, cwd, follow=False)
            for place in places.BACKUPS
            if not self._inside(parts)
        )

    def expand_home(self, text: str) -> str:
        """Text of another language with the home directory expanded."""
        for start in ("~", "$HOME", "${HOME}", "$ENV{HOME}"):
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
        if places.MACHINE_SECRETS.fullmatch("/" + "/".join(parts)):
            return True
        if parts and places.HISTORIES.fullmatch(parts[-1]):
            return True
        home = next((one for one in self._homes(parts) if _takes(parts[: len(one)], one)), None)
        if home is None:
            return False
        below = parts[len(home) :]
        if below[:1] == [".ssh"] and len(below) > 1 and places.PUBLIC.fullmatch(below[-1]):
            return False
        if not below or (len(below) == 1 and is_wildcard(below[0])):
            return True
        # A glob matches a name that begins with a dot only if it begins with one itself.
        hidden = below[0].startswith(".")
        return any(
            _takes(below, store) or (hidden and _takes(below[: len(store)], store))
            for store in map(_parts, places.SECRET_STORES)
        )

    def _is_history(self, parts: Sequence[str]) -> bool:
        in_home = any(tuple(parts[:-1]) == tuple(home) for home in self._homes(parts))
        name = parts[-1].replace("*", "bash") if "hist" in parts[-1] else parts[-1]
        return in_home and places.HISTORIES.fullmatch(name) is not None

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
        if len(parts) == 1 and parts[0] in places.ROOT_FILES:
            return True
        below = any(tuple(parts[: len(one)]) == one for one in places.SYSTEM_BELOW)
        return below or any(_fits(top, parts[0]) for top in places.SYSTEM)


def _names_key(below: Sequence[str]) -> bool:
    """Whether a path below a home directory is a key, a glob for keys, or a directory of them."""
    if places.PRIVATE_KEY.fullmatch("/".join(below)):
        return True
    # Every file of a directory is named by a glob that matches anything.
    whole = below[:-1] if len(below) > 1 and is_wildcard(below[-1]) else below
    hidden = below[0][:1] in (".", "L")
    stores = [one for one in map(_parts, places.KEYS) if len(one) == len(whole)]
    return hidden and any(_takes(whole, store) for store in stores)


def _keeps_data(parts: Sequence[str]) -> bool:
    """Whether a directory is all that one service keeps: a database, a site, the images of containers."""
    if tuple(parts[:2]) == ("var", "lib"):
        service = parts[2] if len(parts) > 2 else ""
        return len(parts) == 3 or places.SERVICES.fullmatch(service) is not None
    return tuple(parts[:-1]) in places.SERVED and not _unknown(parts[-1])


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
    return len(parts) > 1 and parts[1] not in places.HARMLESS_DEVICES and parts[1][:3] != "tty"


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
