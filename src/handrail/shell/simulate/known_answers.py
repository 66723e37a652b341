"""What well-known queries print: where a repository, a home directory or the data of a service is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.simulate.shell_state import ShellState

# `{root}` is the workspace that contains the current directory, `{home}` the home directory.
_ANSWERS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), answer)
    for pattern, answer in (
        (r"git (?:.* )?rev-parse (?:.* )?--git-path (\S+)", r"{root}/.git/\1"),
        (
            r"git (?:.* )?rev-parse (?:.* )?--(?:git|absolute-git|git-common)-?(?:common-)?dir.*",
            "{root}/.git",
        ),
        (
            r"git (?:.* )?rev-parse (?:.* )?--show-toplevel.*|(?:hg|jj) root|svn info .*wc-root.*",
            "{root}",
        ),
        (r"git (?:.* )?rev-parse (?:.* )?--show-superproject-working-tree.*", "{root}"),
        (r"python[\d.]* (?:-\S+ )*-m site --user-site", "{home}/.local/lib/python3/site-packages"),
        (r"python[\d.]* (?:-\S+ )*-m site --user-base", "{home}/.local"),
        (r"npm (?:root|prefix) (?:-g|--global)", "/usr/lib/node_modules"),
        (r"npm prefix", "{root}"),
        (r"go env GOPATH", "{home}/go"),
        (r"gpgconf --list-dirs? homedir", "{home}/.gnupg"),
        (r"xdg-user-dir(?: DESKTOP)?", "{home}/Desktop"),
        (r"xdg-user-dir (?:DOCUMENTS|DOWNLOAD|MUSIC|PICTURES|VIDEOS)", "{home}/Documents"),
        (r"systemd-path user", "{home}"),
        (r"docker (?:system )?info .*DockerRootDir.*", "/var/lib/docker"),
        (
            r"(?i)(?:psql|postgres) .*(?:show data_directory|-C data_directory).*",
            "/var/lib/postgresql/data",
        ),
        (r"(?i)(?:mysql|mariadb) .*@@datadir.*", "/var/lib/mysql"),
        (r"(?:findmnt|df) .*(?:TARGET|target).*", "/"),
        (
            r"findmnt .*SOURCE.*|df .*--output=source.*|lsblk .*-\w*p\w*.*|blkid -o device.*",
            "/dev/sda1",
        ),
        (r"lsblk .*-\w*n\w*.*", "sda"),
    )
)
_LONGEST: Final = 300


def known_answer(fields: Sequence[str], state: ShellState) -> str | None:
    """What a query prints, with the end of its line; None for any other program."""
    name = fields[0].rpartition("/")[2]
    told = " ".join((name, *fields[1:]))[:_LONGEST]
    for pattern, answer in _ANSWERS:
        match = pattern.fullmatch(told)
        if match is not None:
            shown = match.expand(answer) if "\\" in answer else answer
            return shown.replace("{root}", state.root).replace("{home}", state.home) + "\n"
    return None
