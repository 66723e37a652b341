"""Collects the reasons and effects of a command during classification, with the hosts it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, Reason
from handrail.shell.classify.arguments import Argument
from handrail.shell.tables.word_list import word_set

_URL: Final = re.compile(
    r"(?i)(?<![a-z0-9+.-])[a-z0-9+.-]++://(?:[^/@\s]*@)?(\[[^\]]+\]|[^/:?#\s]+)"
)
_REMOTE: Final = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|localhost)(?::.*)?")
_BARE: Final = re.compile(
    r"(?:[\w.-]+@)?([A-Za-z0-9][\w.-]*|\[[0-9a-fA-F:]+\]|[0-9a-fA-F:]+:[0-9a-fA-F:]*)"
)
_LOGIN: Final = re.compile(r"[\w.-]+@([\w.-]+)(?::.*)?|([\w.-]+\.[A-Za-z]{2,}|\d+(?:\.\d+){3}):.*")
# An address without a scheme, as programs that fetch take it.
_ADDRESS: Final = re.compile(
    r"(?:[^/@\s]*@)?([\w-]+(?:\.[\w-]+)+|localhost|\[[0-9a-fA-F:]+\])(?::\d+)?(?:[/?#].*)?"
)
# Copiers take a name without a colon for a file.
_COPIERS: Final = frozenset(("scp", "rsync", "ssh-copy-id"))
_COPIED: Final = re.compile(r"(?:[\w.-]+@)?([\w.-]+|\[[0-9a-fA-F:]+\]):.*")
# Options whose value is a file or a text, and no machine.
_VALUE_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "curl": word_set("""
        -o -T -K -b -c -D -E -F -d -H -A -X -w -u -m -r -z -C -Q --output --upload-file --config
        --cookie --cookie-jar --dump-header --cert --key --cacert --form --data --data-binary --data-raw
        --data-urlencode --json --header --user-agent --request --write-out --user --output-dir --range
        --netrc-file --retry --max-time --etag-save --etag-compare --trace --stderr --url-query
    """),
    "wget": word_set("""
        -O -o -a -i -P -U -e -A -R -D -I -X -Q -t -T -w --output-document --output-file --append-output
        --input-file --directory-prefix --user-agent --execute --header --post-file --post-data
        --body-file --body-data --load-cookies --save-cookies --certificate --private-key --config
    """),
    **dict.fromkeys(
        ("http", "https", "xh"), word_set("-o -A -a -p -s --output --auth --session --style")
    ),
    **dict.fromkeys(
        ("aria2c", "axel", "yt-dlp", "youtube-dl"), word_set("-o -d -i -l --out --dir --output")
    ),
}


class EffectCollector:
    """The reasons and effects found so far. The safety class never decreases."""

    def __init__(self) -> None:
        self.safety_class = CommandClass.SAFE
        self._part = CommandClass.SAFE
        self.background = False
        # A program reads the files that another one lists.
        self.reads_found_files = False
        self.open_ended = False
        self.changes_directory = False
        self.git = False
        self.network = False
        self._reasons: dict[Reason, CommandClass] = {}
        self._programs: list[str] = []
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}
        self._removes: dict[str, None] = {}
        self._hosts: dict[str, None] = {}

    def add_reason(self, safety_class: CommandClass, text: str, part: str) -> None:
        """Raise the class of the command to at least `safety_class`."""
        self.safety_class = max(self.safety_class, safety_class)
        self._part = max(self._part, safety_class)
        if safety_class > CommandClass.SAFE:
            reason = Reason(text, part)
            self._reasons[reason] = max(safety_class, self._reasons.get(reason, safety_class))

    def take_part_class(self) -> CommandClass:
        """The class of everything added since the last call."""
        part, self._part = self._part, CommandClass.SAFE
        return part

    def add_program(self, program: str) -> None:
        """Add a program that the command starts."""
        self._programs.append(program)

    def reads_trees(self) -> bool:
        """Whether a whole tree is among what is read."""
        return any(path.endswith("/") for path in self._reads)

    def add_reads(self, paths: Iterable[str]) -> None:
        """Add paths that are read; a trailing `/` stands for the whole tree."""
        self._reads.update(dict.fromkeys(paths))

    def add_writes(self, paths: Iterable[str]) -> None:
        """Add paths that are created, changed or removed."""
        self._writes.update(dict.fromkeys(paths))

    def add_removes(self, paths: Iterable[str]) -> None:
        """Add paths that are deleted; they are also passed to `add_writes`."""
        self._removes.update(dict.fromkeys(paths))

    def add_host(self, host: str) -> None:
        """Add a machine that the command connects to."""
        self._hosts[host] = None

    def to_analysis(self) -> CommandAnalysis:
        """The analysis so far, the most severe reasons first."""
        ranked = sorted(self._reasons, key=lambda reason: -self._reasons[reason])
        return CommandAnalysis(self.safety_class, tuple(ranked), self.effects())

    def effects(self) -> CommandEffects:
        """What the command would touch."""
        return CommandEffects(
            programs=tuple(self._programs),
            reads=tuple(self._reads),
            writes=tuple(self._writes),
            hosts=tuple(self._hosts),
            background=self.background,
            open_ended=self.open_ended,
            changes_directory=self.changes_directory,
            git=self.git,
            network=self.network or bool(self._hosts),
            removes=tuple(self._removes),
        )


def collect_hosts(
    arguments: Sequence[Argument],
    collector: EffectCollector,
    *,
    program: str = "",
    strict: bool = False,
) -> None:
    """Add the hosts that the arguments of a program name.

    `strict`: only complete addresses count, as for a program that is not known to connect.
    """
    values = _VALUE_OPTIONS.get(program, frozenset())
    pattern = _LOGIN if strict else _REMOTE
    if program in _COPIERS:
        pattern = _COPIED
    elif values:
        pattern = _ADDRESS
    for before, argument in pairwise((None, *arguments)):
        value = argument.text or argument.prefix if argument is not None else ""
        found = _URL.search(value)
        if found is not None:
            collector.add_host(found.group(1).strip("[]").casefold())
        elif not value.startswith("-") and (before is None or not _takes_value(before, values)):
            named = pattern.fullmatch(value)
            in_path = pattern is not _ADDRESS and "/" in value.partition(":")[0]
            if named is not None and not in_path:
                collector.add_host(next(one for one in named.groups() if one).casefold())


def _takes_value(option: Argument, values: frozenset[str]) -> bool:
    """Whether the next argument is the value of an option, also of the last in `-sSo`."""
    text = option.text or ""
    return text in values or (text[:2] != "--" and text[:1] == "-" and f"-{text[-1]}" in values)


def collect_first_host(arguments: Iterable[Argument], collector: EffectCollector) -> None:
    """Add the first operand as a host."""
    for argument in arguments:
        value = argument.text
        if value and not value.startswith(("-", "@", "+")) and not value.isdigit():
            found = _BARE.fullmatch(value)
            if found is not None:
                collector.add_host(found.group(1).strip("[]").casefold())
            return
