"""Ending processes of others, stopping the machine, and starting processes without end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import input_sources
from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import plain_text
from handrail.shell.languages.endless_code import prints_without_end, writes_file
from handrail.shell.languages.process_names import SIGNAL, matches_every_name, option_letters
from handrail.shell.parse.syntax import (
    CompoundCommand,
    Script,
    SimpleCommand,
    Statement,
    all_simple_commands,
    all_statements,
)
from handrail.shell.tables.catastrophes import (
    EVERY_MACHINE,
    FLEETS,
    MINERS,
    MINING_POOL,
    POWER,
    POWER_VERBS,
    STOPS,
)
from handrail.shell.tables.text_arguments import takes_text_as_data
from handrail.shell.tables.word_list import word_set

_KILLS: Final = frozenset(("9", "KILL", "SIGKILL"))
# They print without end if their arguments match.
_ENDLESS: Final[Mapping[str, re.Pattern[str]]] = {
    "yes": re.compile(r"yes(?: .*)?", re.DOTALL),
    "shuf": re.compile(
        r"(?!.* (?:-\w*n|--head-count))shuf .*(?:-\w*r|--repeat)(?: .*|$)", re.DOTALL
    ),
    "seq": re.compile(r"seq (?:.* )?(?:[+]?inf\w*|\d{11,}|\d[eE]\d\d+)", re.IGNORECASE),
    "jot": re.compile(r"jot (?:-\S+ )*0(?: .*|$)"),
}
# They print about as much as they read.
_PASSING: Final = word_set("""
    cat pv tail tee base64 base32 xxd od hexdump gzip bzip2 xz zstd openssl tr rev fold
""")
# They end after so many bytes.
_COUNTED_BYTES: Final = {
    "xxd": re.compile(r"--?l(?:en)?(?:\d\w*)?"),
    "od": re.compile(r"-[a-zA-Z]*N(?:\d\w*)?|--read-bytes(?:=.*)?"),
    "hexdump": re.compile(r"-[bcCdovxX]*n(?:\d\w*)?|--length(?:=.*)?"),
}
_ENDLESS_FILES: Final = frozenset(("/dev/zero", "/dev/urandom", "/dev/random"))
_MOST_WORDS: Final = 200
_LONGEST: Final = 4_000
# More processes at once than this are too many.
_MANY: Final = 20_000
# `seq 1 100000`, `{1..100000}`, `i < 100000`.
_COUNTED: Final = re.compile(r"(?:\bseq(?:\s+\d+){0,2}\s+|\.\.|<=?\s*)(\d{5,18})\b")
_WAITING: Final = word_set("""
    wait sleep usleep read break exit return select inotifywait fswatch entr nc socat tail curl wget ping
""")
# They make something new each time, or enter what they made.
_ADDING: Final = frozenset(("mkdir", "mktemp", "fallocate"))
# More than a disk usually has room for.
_TOO_MUCH: Final = 250 * 2**30
_SIZE: Final = re.compile(r"(\d{1,15})([kKmMgGtTpPeE]?)(?:i?[bB])?")
_ALWAYS: Final[Mapping[str, list[list[list[str | None]]]]] = {
    "while": [[["true"]], [[":"]], [["[", "1", "]"]], [["test", "1"]]],
    "until": [[["false"]]],
}
_BOMB: Final = (messages.FORK_BOMB, messages.START_A_FEW)


def find_process_damage(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a kill or shutdown."""
    verbs = POWER_VERBS.get(call.name, frozenset())
    stops = not call.in_workspace and not verbs.isdisjoint(map(plain_text, call.arguments))
    if stops or _stops_fleet(call):
        yield call.reason(*POWER)
    elif _mines(call):
        yield call.reason(messages.MINES, messages.ASK_THE_USER)
    if call.name == "kill":
        yield from _kill(call)
    elif call.name in ("killall", "pkill", "skill"):
        yield from _by_name(call)
    elif call.name == "xargs":
        yield from _endless(call, command)


def _mines(call: ProgramCall) -> bool:
    """Whether a program computes for a pool of miners, on a machine that is not there for it."""
    if MINERS.fullmatch(call.name):
        return any(one in ("-o", "--url", "--pool", "-P") for one in call.arguments)
    return not takes_text_as_data(call.name) and any(map(MINING_POOL.match, call.arguments))


def _stops_fleet(call: ProgramCall) -> bool:
    """Whether every machine that a program controls is stopped: `ansible all -m reboot`."""
    if call.name not in FLEETS or call.is_dry_run:
        return False
    fields = [plain_text(one) for one in call.arguments[:_MOST_WORDS]]
    return any(map(EVERY_MACHINE.fullmatch, fields)) and any(map(STOPS.fullmatch, fields))


def find_endless_loops(script: Script) -> Iterator[Reason]:
    """Reasons to refuse loops such as `while true; do x & done` that never end and never wait."""
    for statement in all_statements(script):
        loop = statement.command
        if not isinstance(loop, CompoundCommand):
            continue
        if not _never_ends(loop, statement.source) and not _many_rounds(loop, statement.source):
            continue
        inside = [one for body in loop.scripts for one in all_statements(body)]
        waits = {_program(one) for one in inside if not one.background}
        if not waits.isdisjoint(_WAITING):
            continue
        if any(one.background for one in inside):
            yield Reason("; ".join(_BOMB), statement.source)
        elif _never_ends(loop, statement.source) and (
            any(map(_adds, inside)) or _is_saved(statement, inside)
        ):
            yield Reason(f"{messages.FILLS_DISK}; {messages.WRITE_LESS}", statement.source)
    own = [one for one in all_statements(script) if _starts_itself(one)]
    if len(own) > 1:
        yield Reason("; ".join(_BOMB), own[0].source)


def _adds(statement: Statement) -> bool:
    """Whether a statement of a loop leaves more on the disk each time."""
    if any(one.operator == ">>" for one in statement.redirects):
        return True
    return _program(statement) in _ADDING


def _is_saved(loop: Statement, inside: Sequence[Statement]) -> bool:
    """Whether a file gets what the statements of a loop print."""
    targets = [one.target.value or "" for one in loop.redirects if one.operator in (">", ">|")]
    prints = {"echo", "printf", "cat", "date", "seq"}
    return any(not one.startswith("/dev/") for one in targets) and not prints.isdisjoint(
        _program(one) or "" for one in inside
    )


def _starts_itself(statement: Statement) -> bool:
    """Whether a statement runs the script that contains it, beside another run of it."""
    command = statement.command
    words = command.words if isinstance(command, SimpleCommand) else ()
    return len(words) == 1 and words[0].source.strip('"') in ("$0", "${0}")


def _program(statement: Statement) -> str | None:
    command = statement.command
    return command.words[0].value if isinstance(command, SimpleCommand) and command.words else None


def _many_rounds(loop: CompoundCommand, source: str) -> bool:
    """Whether a `for` counts so far that its rounds cannot all run at once."""
    head = source.partition("do")[0][:200] if loop.kind.startswith("for") else ""
    return any(int(number) > _MANY for number in _COUNTED.findall(head))


def _never_ends(loop: CompoundCommand, source: str) -> bool:
    if loop.kind == "for ((":
        return re.match(r"for\s*\(\(\s*;\s*(?:1\s*)?;", source) is not None
    if loop.kind not in ("while", "until") or not loop.scripts:
        return False
    told = [[word.value for word in one.words] for one in all_simple_commands(loop.scripts[0])]
    return told in _ALWAYS[loop.kind] or re.match(r"while\s*\(\(\s*1", source) is not None


def find_fork_bombs(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse functions that start themselves several times."""
    names = command.flat.functions | {one.function for one in command.flat.invocations}
    calls: dict[str, set[str]] = defaultdict(set)
    spreading: dict[tuple[str, str], Invocation] = {}
    for one in command.flat.invocations:
        callee = one.program
        if one.function is None or callee is None or callee not in names:
            continue
        calls[one.function].add(callee)
        if one.background or any(other.program in names for other in one.piped_from):
            spreading[one.function, callee] = one
    for (caller, callee), one in spreading.items():
        if caller in _reached(callee, calls):
            yield Reason("; ".join(_BOMB), one.source)
            return


def _reached(start: str, calls: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += calls.get(name, ())
    return reached


def _kill(call: ProgramCall) -> Iterator[Reason]:
    fields = [plain_text(field) for field in call.arguments]
    if any(field in ("-l", "-L", "--list", "--table") for field in fields):
        return
    if fields and fields[0] in ("-s", "-n", "--signal"):
        signal, targets = fields[1:2], fields[2:]
    elif fields and SIGNAL.fullmatch(fields[0]) and len(fields) > 1:
        signal, targets = [fields[0][1:]], fields[1:]
    else:
        signal, targets = [], fields
    asks_only = signal == ["0"]
    everything = ("-1", "1")
    if not asks_only and any(one in everything or set(one) & set("*?[") for one in targets):
        yield call.reason(messages.KILLS_EVERYTHING, messages.END_OWN_PROCESSES)


def _by_name(call: ProgramCall) -> Iterator[Reason]:
    fields = [plain_text(field) for field in call.arguments]
    named = {field.lstrip("-").upper() for field in fields if SIGNAL.fullmatch(field)}
    value = call.option_value("s" if call.name == "killall" else "", "signal")
    switches = option_letters(fields)
    kills = not _KILLS.isdisjoint({*named, *switches, (value or "").upper()})
    everybody = bool(switches & set("uUgG")) or any("--u" in field for field in fields)
    if call.name == "killall":
        anything = any(matches_every_name(plain_text(one)) for one in call.operands)
        refused = kills or (everybody and len(call.operands) < 2) or anything
    else:
        full, ignore_case = "f" in switches, "i" in switches
        anything = "v" in switches or any(
            matches_every_name(plain_text(one), full=full, ignore_case=ignore_case)
            for one in call.operands
        )
        all_of_one = everybody and (len(call.operands) < 2 or "root" in fields)
        refused = anything or (kills and (full or everybody)) or all_of_one
    if refused:
        yield call.reason(messages.KILLS_BY_PATTERN, messages.END_OWN_PROCESSES)


def _endless(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Refuse `yes | xargs -P 0 …`, which starts processes without end."""
    many = call.option_value("P", "max-procs")
    if many is None or (many.isdigit() and 0 < int(many) <= 64):
        return
    feeds = input_sources(call.invocation, command.flat.invocations)
    if any(map(_prints_without_end, feeds)):
        yield call.reason(*_BOMB)


def _written_bytes(call: ProgramCall) -> int:
    """How much a program writes that is told so: `head -c`, `fallocate -l`, `dd bs= count=`."""
    if call.name == "dd":
        told = dict(one.partition("=")[::2] for one in call.arguments)
        if told.get("of", "/dev/null").startswith("/dev/"):
            return 0
        return _bytes(told.get("bs", "512")) * _bytes(told.get("count", "0"))
    if call.name in ("head", "fallocate", "mkfile", "xfs_mkfile"):
        saved = call.name != "head" or bool(call.invocation.redirects)
        short, name = ("c", "bytes") if call.name == "head" else ("l", "length")
        value = call.option_value(short, name) or ("".join(call.operands[:1]))
        return _bytes(value) if saved else 0
    return 0


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        return 0
    return int(match[1]) << 10 * " kmgtpe".index(match[2].lower() or " ")


def _prints_without_end(one: Invocation) -> bool:
    name = program_basename(one.program or "")
    texts = [word.value or "" for word in one.words[1:]]
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) < 20]
    return _is_endless(name, texts) or (name == "seq" and max(numbers, default=0) > _MANY)


def _is_endless(name: str, fields: Sequence[str]) -> bool:
    """Whether a program prints without end, by its arguments or by the code among them."""
    pattern = _ENDLESS.get(name)
    if pattern is not None:
        return pattern.fullmatch(" ".join((name, *fields[:_MOST_WORDS]))[:_LONGEST]) is not None
    return interpreter_language(name) is not None and any(map(prints_without_end, fields))


def _reads_so_much(one: Invocation) -> bool:
    counted = _COUNTED_BYTES.get(program_basename(one.program or ""))
    return counted is not None and any(
        counted.fullmatch(word.value or "") for word in one.words[1:]
    )


def _ends(one: Invocation) -> bool:
    """Whether a program ends though its input does not."""
    return "timeout" in one.wrapped_by or _reads_so_much(one)


def _read_without_end(command: ExpandedCommand) -> Set[int]:
    """The ids of the invocations that read what does not end, directly or from others.

    Each is looked at once: every command of a stage is fed by every command of the one before.
    """
    reading: set[int] = set()
    printing: set[int] = set()
    stages: dict[int, bool] = {}
    # An invocation stands behind those whose output it reads.
    for one in command.flat.invocations:
        if _ends(one):
            continue
        name = program_basename(one.program or "")
        if one.piped_from:
            key = id(one.piped_from)
            if key not in stages:
                stages[key] = any(id(feed) in printing for feed in one.piped_from)
            fed = stages[key]
        else:
            around = input_sources(one, command.flat.invocations) if name in _PASSING else ()
            fed = any(id(feed) in printing for feed in around)
        if fed or _reads_endless_file(one):
            reading.add(id(one))
        texts = [word.value or "" for word in one.words[1:]]
        if _is_endless(name, texts) or (name in _PASSING and id(one) in reading):
            printing.add(id(one))
    return reading


def _reads_endless_file(one: Invocation) -> bool:
    read = [each.target.value for each in one.redirects if each.operator == "<"]
    return not _ENDLESS_FILES.isdisjoint([*read, *(word.value for word in one.words[1:])])


def find_full_disks(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse the programs that write a file without end, or too much."""
    reading = _read_without_end(command)
    for call in command.calls:
        if "timeout" not in call.invocation.wrapped_by:
            yield from _full_disk(call, fed=id(call.invocation) in reading)


def _full_disk(call: ProgramCall, *, fed: bool) -> Iterator[Reason]:
    fields = [plain_text(field) for field in call.arguments]
    sources = {field.removeprefix("if=") for field in fields}
    prints = _is_endless(call.name, fields)
    endless = prints or not _ENDLESS_FILES.isdisjoint(sources)
    if _written_bytes(call) > _TOO_MUCH:
        yield call.reason(messages.WRITES_TOO_MUCH, messages.WRITE_LESS)
    if call.name == "dd":
        counted = any(field.startswith("count=") for field in fields)
        target = next((field[3:] for field in fields if field.startswith("of=")), "/dev/null")
        if endless and not counted and not target.startswith("/dev/"):
            yield call.reason(messages.FILLS_DISK, messages.WRITE_LESS)
        return
    if prints and any(map(writes_file, fields)):
        yield call.reason(messages.FILLS_DISK, messages.WRITE_LESS)
    if not (prints or call.name in _PASSING) or _reads_so_much(call.invocation):
        return
    endless = endless or fed
    saved = [
        redirect.target.value or ""
        for redirect in call.invocation.redirects
        if redirect.operator in (">", ">>", ">|", "&>") and redirect.fd in ("", "1")
    ]
    if call.name == "tee":
        saved += call.operands
    if endless and any(not one.startswith("/dev/") for one in saved):
        yield call.reason(messages.FILLS_DISK, messages.WRITE_LESS)
