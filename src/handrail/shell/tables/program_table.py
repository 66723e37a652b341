"""The known programs, from `programs/*.toml`.

The tables are allow-lists: an option that is not listed is not trusted. Settings can add programs,
options and subcommands; they can loosen a known program only by stating its class.
"""

from __future__ import annotations

import re
import tomllib
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

from handrail.core.commands import CommandClass

Entry = Mapping[str, Any]
_HEADER: Final = re.compile(r'^\[(?:"([^"\n]+)"|([\w-]+))', re.MULTILINE)


class ProgramEntries(Mapping[str, Entry]):
    """Table entries by program name, parsed when first used; one may cover several programs."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._blocks: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._parsed: dict[str, Entry] = {}
        for text in texts:
            self._divide(text)

    def __getitem__(self, name: str) -> Entry:
        """The entry of a program."""
        known = self._parsed.get(name)
        if known is None:
            entries = tomllib.loads(self._blocks[name])
            known = _with_groups(next(iter(entries.values())), self._groups)
            self._parsed[name] = known
        return known

    def __iter__(self) -> Iterator[str]:
        """Every program that has an entry."""
        return iter(self._blocks)

    def __len__(self) -> int:
        """How many programs have one."""
        return len(self._blocks)

    def _divide(self, text: str) -> None:
        """Split a file at its headers; `[git.sub.log]` belongs to the entry of git."""
        headers = list(_HEADER.finditer(text))
        opening = text[: headers[0].start()] if headers else text
        self._groups.update(tomllib.loads(opening))
        ends = [*(header.start() for header in headers[1:]), len(text)]
        for header, end in zip(headers, ends, strict=True):
            for name in (header[1] or header[2]).split():
                self._blocks[name] = self._blocks.get(name, "") + text[header.start() : end]


@lru_cache(maxsize=1)
def program_entries() -> ProgramEntries:
    """The tables that ship with the package."""
    folder = resources.files("handrail.shell.tables") / "programs"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return ProgramEntries(
        file.read_text(encoding="utf-8") for file in files if file.name.endswith(".toml")
    )


def _with_groups(entry: Any, groups: Mapping[str, str]) -> Any:
    """The entry with every `@name` in it replaced by the options of that group."""
    if isinstance(entry, str):
        return " ".join(groups.get(word, word) for word in entry.split()) if "@" in entry else entry
    if isinstance(entry, dict):
        return {key: _with_groups(value, groups) for key, value in entry.items()}
    return entry


_CLASSES: Final = {
    "safe": CommandClass.SAFE,
    "dev": CommandClass.DEV,
    "dangerous": CommandClass.DANGEROUS,
}
_COUNTS: Final = {"?": (0, 1), "*": (0, None), "+": (1, None)}
ANY: Final = "*"
WORD_STYLES: Final = frozenset({"words", "numbered"})


class OperandSlot(NamedTuple):
    """A position for operands. `most` None: any number."""

    role: str
    least: int = 1
    most: int | None = 1


class OptionSpec(NamedTuple):
    """An option of a program."""

    # The roles of its values; empty for a flag.
    roles: tuple[str, ...] = ()
    # The value is optional, and only ever part of the same word.
    attached: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentGrammar:
    """How a program reads its arguments."""

    # None: any option is accepted.
    options: Mapping[str, OptionSpec] | None = None
    slots: tuple[OperandSlot, ...] = ()
    # "letters" (`-la`, `--all`), "words" (`-name`), "numbered" (words, and `-l8` for `-l 8`),
    # "assignments" (`of=file`) or "none".
    style: str = "letters"
    # Options that replace the first operand.
    drops: frozenset[str] = frozenset()
    # Options that change the roles of operands.
    turns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Those of `turns` that count only for the operands behind them.
    early: frozenset[str] = frozenset()
    # Options after which those of `turns` may not count any more: the last one given decides.
    cancels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # Words that may stand before the operands and say what is the case without them.
    verbs: frozenset[str] = frozenset()
    # Options end at the first operand.
    stops: bool = False
    # Options that write files into the current directory.
    spreads: frozenset[str] = frozenset()
    # Options that change something instead of showing it.
    changes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program, or a subcommand of one."""

    name: str
    safety_class: CommandClass
    why: str
    grammar: ArgumentGrammar
    # Words that make it print and stop (`--version`).
    answers: frozenset[str] = frozenset()
    # The role of the current directory if no path is given.
    default: str = ""
    # Options without which `default` does not apply.
    default_with: frozenset[str] = frozenset()
    # "builtin", "any" (no argument is harmful), "open" (touches more than it names), "git" (writes in
    # `.git`), "endless", "bare" (harmful without arguments), "needs" (harmful with fewer operands),
    # "alone" (works without a subcommand), "net" and "host" (arguments name machines), "fetches"
    # (connects to other machines), "dashless" (the first word is options), "wrapper" and "modules"
    # (runs what follows), "rest" (behind its first operand are only files), "processes" (shows the arguments of other processes).
    traits: frozenset[str] = frozenset()
    # A pattern of arguments that make it dangerous.
    deny: str = ""
    # A pattern of wrapper options that remove variables.
    clears: str = ""
    subcommands: Mapping[str, ProgramSpec] = field(default_factory=dict)
    # Uses that only read, each with the options of which one makes it that; none: any arguments.
    looks: tuple[tuple[frozenset[str], ProgramSpec], ...] = ()


# A tool for another machine (`arm-none-eabi-size`) takes the arguments of the one for this.
_CROSS_TOOL: Final = re.compile(
    r"(?:arm|aarch64|riscv(?:32|64)|xtensa|avr|mips(?:el|64)?|powerpc(?:64)?|m68k|sparc|i[3-6]86|x86_64|msp430)"
    r"-(?:\w+-){0,3}(gcc|g\+\+|cpp|ld|ar|as|nm|size|objcopy|objdump|readelf|strings|strip|addr2line)"
)


class ProgramTable:
    """The known programs by name. Entries are parsed when they are first used."""

    def __init__(self, raw: Mapping[str, Entry]) -> None:
        self._raw = raw
        self._read: dict[str, ProgramSpec] = {}

    def find(self, name: str) -> ProgramSpec | None:
        """The program of that name; None if it is unknown."""
        cross = _CROSS_TOOL.fullmatch(name)
        if cross is not None and name not in self._raw:
            name = cross[1]
        known = self._read.get(name)
        if known is None and name in self._raw:
            known = self._read[name] = _program(name, self._raw[name])
        return known

    def names(self) -> Sequence[str]:
        """Every known program, sorted."""
        return sorted(self._raw)


def load_programs(extra: Mapping[str, Entry] | None = None) -> ProgramTable:
    """The tables, extended by the settings.

    An entry of the settings that states a class replaces the table's entry; any other adds options and
    subcommands. Raises ValueError for an unknown class.
    """
    ours = program_entries()
    added: dict[str, Entry] = {}
    for name, entry in (extra or {}).items():
        if entry.get("class", "dev") not in _CLASSES:
            raise ValueError(f"{name!r}: class must be 'safe', 'dev' or 'dangerous'")
        added[name] = _merged_entry(ours.get(name), _normalized_entry(entry))
    return ProgramTable(ChainMap(added, ours))  # type: ignore[arg-type] # never written to


def _normalized_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the settings in the form of the table files: lists become words."""
    tidy: dict[str, Any] = {
        key: " ".join(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    if "subcommands" in tidy:
        inner: Mapping[str, Mapping[str, Any]] = entry["subcommands"]
        del tidy["subcommands"]
        tidy["sub"] = {name: _normalized_entry(one) for name, one in inner.items()}
    return tidy


def _merged_entry(ours: Mapping[str, Any] | None, theirs: dict[str, Any]) -> Mapping[str, Any]:
    if ours is None:
        return {"class": "dangerous", "options": ANY, "operands": "any*", **theirs}
    if "class" in theirs and "sub" not in theirs:
        return {"options": ANY, "operands": "any*", **theirs}
    joined = {**ours, **{key: theirs[key] for key in ("class",) if key in theirs}}
    if "options" in theirs and ours.get("options") != ANY:
        joined["options"] = f"{ours.get('options', '')} {theirs['options']}"
    if "sub" in theirs:
        known = _subcommands(ours)
        joined["sub"] = known | {
            name: _merged_entry(known.get(name), entry) for name, entry in theirs["sub"].items()
        }
    return joined


def _program(name: str, raw: Mapping[str, Any]) -> ProgramSpec:
    safety_class = _CLASSES[raw.get("class", "safe")]
    answers = raw.get("answers", "--help --version" if safety_class is CommandClass.SAFE else "")
    return ProgramSpec(
        name=name,
        safety_class=safety_class,
        why=raw.get("why", ""),
        grammar=_grammar(raw, ANY if safety_class is not CommandClass.SAFE else ""),
        answers=frozenset(answers.split()),
        default=raw.get("default", "").partition(" ")[0],
        default_with=frozenset(raw.get("default", "").split()[1:]),
        traits=frozenset(raw.get("traits", "").split()),
        deny=raw.get("deny", ""),
        clears=raw.get("clears", ""),
        subcommands={
            word: _program(f"{name} {word}", entry)
            for words, entry in _subcommands(raw).items()
            for word in words.split()
        },
        looks=tuple(
            (frozenset(options.split()), _program(name, use))
            for options, use in raw.get("look", {}).items()
        ),
    )


def _subcommands(raw: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Subcommands with entries of their own, and those that are merely listed by class."""
    fetching = raw.get("fetching", "").split()
    dev = {
        word: {
            "class": "dev",
            "operands": "any*",
            "traits": "open fetches" if word in fetching else "open",
        }
        for word in raw.get("dev", "").split()
    }
    danger = {
        word: {
            "class": "dangerous",
            "operands": "any*",
            "traits": "open fetches" if word in fetching else "open",
            "why": why,
        }
        for words, why in raw.get("danger", {}).items()
        for word in words.split()
    }
    return {**dev, **danger, **raw.get("sub", {})}


def _grammar(raw: Mapping[str, Any], usual: str) -> ArgumentGrammar:
    written = raw.get("options", usual if "operands" not in raw or usual == ANY else "")
    style = raw.get("style", "letters")
    return ArgumentGrammar(
        options=None if written == ANY else dict(_options(written, style)),
        slots=tuple(_slots(raw.get("operands", ""))),
        style=style,
        drops=frozenset(raw.get("drops", "").split()),
        turns={
            option: dict(pair.split(">") for pair in pairs.split())
            for options, pairs in raw.get("turns", {}).items()
            for option in options.split()
        },
        early=frozenset(raw.get("early", "").split()),
        cancels={
            option: frozenset(cancelled.split())
            for options, cancelled in raw.get("cancels", {}).items()
            for option in options.split()
        },
        verbs=frozenset(raw.get("verbs", "").split()),
        stops=bool(raw.get("stops")),
        spreads=frozenset(raw.get("spreads", "").split()),
        changes=frozenset(raw.get("changes", "").split()),
    )


def _options(written: str, style: str) -> Iterator[tuple[str, OptionSpec]]:
    """`-abc` are three flags, `-n=num` takes a value, `--color[=text]` may take one."""
    for token in written.split():
        name, _, roles = token.partition("=")
        attached = name.endswith("[")
        name = name.removesuffix("[")
        option = OptionSpec(tuple(roles.removesuffix("]").split(",")) if roles else (), attached)
        if name.startswith("--") or style in WORD_STYLES or roles:
            yield name, option
        else:
            yield from ((f"-{letter}", option) for letter in name[1:])


def _slots(written: str) -> Iterator[OperandSlot]:
    for token in written.split():
        if token[-1] in _COUNTS:
            yield OperandSlot(token[:-1], *_COUNTS[token[-1]])
        else:
            yield OperandSlot(token)
