"""What a confined program may read besides the workspace: the system and toolchains.

Every path that is not listed here is hidden.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from handrail.host.files.root_identity import is_inside

_SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/snap", "/sys/devices/system/cpu",
)  # fmt: skip
# Paths below the user's home: programs and libraries, but no settings except the git identity.
_TOOLCHAINS: Final = (
    ".asdf", ".bun/bin", ".bun/install/global", ".cabal/bin", ".cabal/store", ".cache/ms-playwright",
    ".cache/puppeteer", ".cargo", ".deno/bin", ".dotnet", ".fnm", ".gem/ruby", ".ghcup",
    ".goenv", ".gradle/wrapper", ".jenv", ".juliaup", ".local/bin", ".local/lib",
    ".local/pipx", ".local/share/fnm", ".local/share/mise", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/pypoetry", ".local/share/uv", ".local/share/virtualenvs",
    ".m2/repository", ".nodenv", ".nuget/packages", ".nvm", ".opam", ".pyenv", ".rbenv", ".rustup",
    ".rvm", ".sdkman", ".stack/programs", ".volta", "bin", "go/bin", "go/pkg/mod", "sdk",
    ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
)  # fmt: skip
# Hidden wherever a root or a toolchain contains them.
_SECRETS: Final = (
    ".ssh", ".gnupg", ".pki", ".aws", ".azure", ".boto", ".oci", ".config/gcloud", ".config/gh",
    ".config/hub", ".config/glab-cli", ".config/op", ".config/rclone", ".config/sops",
    ".config/git/credentials", ".config/containers/auth.json", ".config/google-chrome",
    ".config/chromium", ".mozilla", ".thunderbird", ".password-store", ".local/share/keyrings",
    ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf", ".pypirc", ".git-credentials", ".vault-token",
    ".terraform.d/credentials.tfrc.json", ".terraformrc", ".cargo/credentials",
    ".cargo/credentials.toml", ".gem/credentials", ".bash_history", ".zsh_history",
    ".python_history", ".node_repl_history", ".psql_history", ".local/share/fish/fish_history",
)  # fmt: skip
# Names of program directories whose programs need the directories next to them: `venv/bin` needs
# `venv/lib`.
_PROGRAM_FOLDERS: Final = ("bin", "sbin", "shims", "Scripts")
# Directories of a home that contain unrelated files.
_MIXED: Final = ("", ".local", ".config", ".cache", ".local/share", ".local/state")
_DEEPEST: Final = 3


class VisiblePaths(NamedTuple):
    """Existing absolute paths. `hidden` lie inside `read`, or may lie inside a root."""

    home: str
    read: tuple[str, ...]
    hidden: tuple[str, ...]


def find_visible_paths(
    roots: Sequence[str], readable: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> VisiblePaths:
    """Find the visible paths of this machine; `readable` are further trees that the user named."""
    home = user_home(environ)
    below_home = [f"{home}/{name}" for name in _TOOLCHAINS] if home else []
    wanted = [
        *_SYSTEM,
        *below_home,
        *_prefixes((sys.prefix, sys.base_prefix), home),
        *_search_path_trees(environ.get("PATH", ""), home, roots),
        # Often a link into /run, which is not visible as a whole.
        os.path.realpath("/etc/resolv.conf"),
        *readable,
    ]
    secrets = [f"{home}/{name}" for name in _SECRETS] if home else []
    if os.geteuid() == 0:
        secrets += _root_only_files("/etc")
    # Both a link and its target are needed.
    shown = [
        place
        for path in wanted
        if os.access(path, os.F_OK)
        for place in {path, os.path.realpath(path)}
    ]
    return VisiblePaths(home, tuple(_without_nested(shown)), _existing(secrets))


def user_home(environ: Mapping[str, str]) -> str:
    """Return the user's home; "" if there is none apart from system directories."""
    given = environ.get("HOME", "")
    home = os.path.realpath(given) if given.startswith("/") else ""
    return "" if home == "/" or is_inside_any(home, _SYSTEM) else home


def is_inside_any(path: str, tops: Iterable[str]) -> bool:
    """Return whether the path lies in one of these directories."""
    return any(is_inside(path, top) for top in tops)


def list_except(top: str, hidden: Sequence[str]) -> list[str]:
    """Return a tree without its hidden parts, as few whole trees as possible.

    Links are left out: a target is granted separately or not at all.
    """
    within = [path for path in hidden if is_inside(path, top)]
    if top in within:
        return []
    if not within:
        return [top]
    try:
        entries = sorted(os.scandir(top), key=lambda entry: entry.name)
    except OSError:
        return []
    kept = (entry.path for entry in entries if not entry.is_symlink())
    return [rest for path in kept for rest in list_except(path, within)]


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if os.path.lexists(path))


def _without_nested(paths: Iterable[str]) -> Iterator[str]:
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda one: (one.count("/"), one)):
        if not is_inside_any(path, kept):
            kept.append(path)
            yield path


def _prefixes(prefixes: Iterable[str], home: str) -> Iterator[str]:
    """Return interpreter prefixes; never one that contains a home."""
    for prefix in map(os.path.realpath, prefixes):
        if prefix != "/" and not (home and is_inside(home, prefix)):
            yield prefix


def _search_path_trees(search_path: str, home: str, roots: Sequence[str]) -> Iterator[str]:
    mixed = {f"{home}/{name}".rstrip("/") for name in _MIXED} if home else set()
    for entry in search_path.split(os.pathsep):
        if not entry.startswith("/"):
            continue
        folder = os.path.realpath(entry)
        if is_inside_any(folder, roots):
            continue
        parent, name = os.path.split(folder)
        whole = name in _PROGRAM_FOLDERS and parent != "/" and parent not in mixed
        shown = parent if whole else folder
        covers = any(is_inside(place, shown) for place in (home, *roots) if place)
        if not covers and shown != "/":
            yield shown
        elif not any(is_inside(place, folder) for place in (home, *roots) if place):
            yield folder


def _root_only_files(top: str, depth: int = 1) -> list[str]:
    """The files that other users may not read: root can read them even without capabilities."""
    found = []
    try:
        entries = list(os.scandir(top))
    except OSError:
        return []
    for entry in entries:
        if entry.is_symlink():
            continue
        is_directory = entry.is_dir(follow_symlinks=False)
        needed = stat.S_IROTH | (stat.S_IXOTH if is_directory else 0)
        info = entry.stat(follow_symlinks=False)
        if info.st_mode & needed != needed:
            # An empty lock file contains nothing to hide.
            found += [entry.path] if info.st_size else []
        elif is_directory and depth < _DEEPEST:
            found += _root_only_files(entry.path, depth + 1)
    return found


class SharedMounts(NamedTuple):
    """The roots, hidden paths, private temporary directory and visible paths of a sandbox. All
    paths are resolved, except `aliases`: other paths of roots, through links.
    """

    roots: tuple[str, ...]
    hidden: tuple[str, ...]
    temporary: str
    places: VisiblePaths
    aliases: tuple[tuple[str, str], ...] = ()
    # The sandbox's own device nodes, by the path at which they are shown.
    devices: Mapping[str, str] = MappingProxyType({})
