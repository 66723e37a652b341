"""Commands that no mode allows, however they are written.

Works on the programs that a command starts, not on its text. The list can only grow: no setting
removes a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Final

from handrail.core.commands import ExecutionContext, Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.variables import bind_variables
from handrail.shell.analyze.walk_state import INTEGER_VARIABLES
from handrail.shell.blocklist import fallback_parser, messages
from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.blocklist.deletes import (
    find_deletions,
    find_emptied_keys,
    find_listed_losses,
)
from handrail.shell.blocklist.dry_runs import only_says
from handrail.shell.blocklist.history_loss import find_history_losses
from handrail.shell.blocklist.inline_code import (
    deletes_its_input,
    find_code_damage,
    runs_its_input,
)
from handrail.shell.blocklist.interpreters import find_interpreter
from handrail.shell.blocklist.packages import find_removed_packages
from handrail.shell.blocklist.passed_texts import input_texts, word_texts
from handrail.shell.blocklist.permissions import find_permission_changes
from handrail.shell.blocklist.persistence import find_planted_programs
from handrail.shell.blocklist.processes import (
    find_endless_loops,
    find_fork_bombs,
    find_full_disks,
    find_process_damage,
)
from handrail.shell.blocklist.program_calls import (
    ExpandedCommand,
    ProgramCall,
    expand_command,
    program_basename,
)
from handrail.shell.blocklist.remote_code import find_remote_code
from handrail.shell.blocklist.remote_losses import find_remote_losses
from handrail.shell.blocklist.secret_transfers import find_secret_transfers
from handrail.shell.blocklist.windows_code import find_windows_damage
from handrail.shell.blocklist.writes import (
    find_disk_damage,
    find_output_overwrites,
    find_overwrites,
    find_redirect_overwrites,
    find_replaced_keys,
    formats_workspace_file,
)
from handrail.shell.expand import UNKNOWN, Expander, plain_text
from handrail.shell.languages.decoders import decoded_texts
from handrail.shell.parse.syntax import Script
from handrail.shell.simulate.simulator import CommandSimulator
from handrail.shell.tables.catastrophes import (
    ALWAYS,
    ALWAYS_PREFIX,
    DISK,
    DISK_TOOLS,
    FETCHERS,
    RIGHTS,
    SELF,
    SHELLS,
)
from handrail.shell.tables.evaluators import EVALUATORS, WINDOWS_PROGRAMS, WINDOWS_SHELLS
from handrail.shell.tables.refused_uses import REFUSED_USES

_LOCAL: Final = re.compile(r"root@(?:localhost|127\.\S*|::1|\.host)?")
# Programs that change the user or the view of the machine, and the arguments that ask for it.
_SWITCHES: Final[Mapping[str, re.Pattern[str]]] = {
    "setpriv": re.compile(r"--(?:re|e|r)?[ug]id=(?:0|root)"),
    "systemd-run": re.compile(r"--(?:uid|gid)=(?:0|root)|--machine=.*|-M"),
    "machinectl": re.compile(r"shell|login"),
    "nsenter": re.compile(r"1|--target=1|-t1|-a|--all"),
    "sg": re.compile(r"root|wheel|sudo|docker"),
    "newgrp": re.compile(r"root|wheel|sudo|docker"),
    "ssh": _LOCAL,
    "capsh": re.compile(r"--user=root|--uid=0"),
    "chpst": re.compile(r"-u(?:root|0)"),
}
_CONTAINERS: Final = frozenset(
    ("docker", "podman", "nerdctl", "ctr", "docker-compose", "podman-compose")
)
_WHOLE_MACHINE: Final = re.compile(
    r"--privileged|(?:-v|--volume=)?/(?:root|etc|boot|home)?/?:/.*|.*(?:source|src)=/,.*|--pid=host|.*docker\.sock:.*"
    r"|--cap-add=(?:CAP_)?(?:SYS_ADMIN|SYS_MODULE|SYS_RAWIO|SYS_PTRACE|DAC_READ_SEARCH|ALL)"
    r"|--security-opt=.*unconfined|--device=/dev/(?:sd|nvme|vd|xvd|hd|mem|kmem|dm-|mapper/).*"
)
# The whole file system of the machine, in the file of a composed service, and not only to read.
_HOST_IN_FILE: Final = re.compile(
    r"(?m)[\"'\s-]/:/[\w/]+(?!:ro|[\w/]*:ro)[\"'\s\]]*$|source:\s*/\s*$"
)


def find_user_changes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a program that runs with the rights of root."""
    fields = [plain_text(field) for field in call.arguments]
    pattern = _SWITCHES.get(call.name)
    # An option and its value may be two words.
    joined = [f"{one}={after}" for one, after in pairwise(fields) if one.startswith("--")]
    if pattern is not None and any(map(pattern.fullmatch, (*fields, *joined))):
        yield call.reason(*RIGHTS)
    elif call.name in _CONTAINERS:
        starts = {"run", "create", "exec"}.intersection(fields)
        told = input_texts(call.invocation, command)
        if (starts and any(map(_WHOLE_MACHINE.fullmatch, (*fields, *joined)))) or any(
            map(_HOST_IN_FILE.search, told)
        ):
            yield call.reason(*RIGHTS)
    elif call.name == "chroot":
        target = next(iter(call.operands), "")
        if command.critical_paths.critical_loss(target, call.cwd, follow=True) is not None:
            yield call.reason(*RIGHTS)


def find_refused_uses(call: ProgramCall, _: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a use of an ordinary program, by its arguments alone."""
    uses = REFUSED_USES.get(call.name, ())
    if not uses:
        return
    given = (one[:_LONGEST_WORD] for one in call.arguments[:_MOST_WORDS])
    told = ["" if one == UNKNOWN else plain_text(one) for one in given]
    joined = " ".join((call.name, *told))
    # A file on standard input is as good as one that is named.
    fed = [one.target.value or "" for one in call.invocation.redirects if one.operator == "<"]
    texts = [joined, *(f"{joined} {one}" for one in fed[:1])]
    for pattern, refusal in uses:
        if any(map(pattern.fullmatch, texts)):
            yield call.reason(*refusal)


_CHECKS: Final = (
    find_deletions,
    find_overwrites,
    find_output_overwrites,
    find_replaced_keys,
    find_disk_damage,
    find_permission_changes,
    find_user_changes,
    find_removed_packages,
    find_process_damage,
    find_refused_uses,
    find_remote_losses,
)
_GLOBBED: Final = (
    *ALWAYS,
    *DISK_TOOLS,
    *FETCHERS,
    *SHELLS,
    *("rm", "mv", "dd", "chmod", "chown", "tee", "cp", "find", "kill", "killall", "pkill"),
)
# Programs that start another installed program by its name.
_LAUNCHERS: Final = frozenset(("uvx", "pipx", "uv", "poetry", "pdm", "hatch", "rye"))
# Text that could be code: a call, a block, a string, or a command behind a sign.
_CODE: Final = re.compile(r"[(\[{\"'`!|]|\s[-/]\w")
# Code that starts a shell, which reads the same standard input.
_STARTS_SHELL: Final = re.compile(
    r"(?:exec|system|spawn|popen|run|call|process)\w*\W[^;\n]*?([\"'])(?:/(?:usr/)?bin/)?(?:ba|da|z|k|a)?sh(?: -[is])?\1",
    re.IGNORECASE,
)
_COMPUTED: Final = re.compile(r"\$\(([^()]*)\)")
_MOST_REASONS: Final = 8
# The patterns of uses look at so many arguments: their time grows with the square of the length.
_MOST_WORDS: Final = 200
_LONGEST_WORD: Final = 200
_LONGEST_CODE: Final = 2_000
_DEEPEST: Final = 3


def find_blocked(
    flat: FlatCommand,
    where: ExecutionContext,
    expander: Expander,
    script: Script,
    user_blocked: Sequence[str] = (),
    *,
    simulated: CommandSimulator | None = None,
) -> tuple[Reason, ...]:
    """Why the command is refused in every mode; empty if it is not.

    `expander` expands the words of the command, `script` is its tree. `user_blocked` are further
    programs or beginnings of commands (`terraform destroy`) that the user's settings refuse.
    `simulated` has run the command on values.
    """
    found = _reasons(flat, where, expander, user_blocked, 0)
    further: Iterator[Reason] = iter(())
    if simulated is not None:
        further = _simulated_reasons(simulated, where, user_blocked)
    return _distinct(chain(found, find_endless_loops(script), further))


def _simulated_reasons(
    simulator: CommandSimulator, where: ExecutionContext, user_blocked: Sequence[str]
) -> Iterator[Reason]:
    """Reasons to refuse what the command does with the values that its words get."""
    for source in simulator.findings.remote:
        yield Reason(f"{messages.RUNS_DOWNLOAD}; {messages.DOWNLOAD_FIRST}", source)
    yield from simulator.findings.loops
    for source in simulator.findings.fork_bombs:
        yield Reason(f"{messages.FORK_BOMB}; {messages.START_A_FEW}", source)
    look = partial(_fallback_reasons, where=where, user_blocked=user_blocked, depth=1)
    places = CriticalPaths(where)
    for code, source in simulator.findings.codes:
        found = find_code_damage(code, source, places, where.cwd, look)
        yield from (Reason(what, source) for what in found)
    flat = FlatCommand(tuple(simulator.invocations))
    yield from _reasons(flat, where, Expander({}, where.home), user_blocked, 0)


def find_blocked_in_text(
    command: str, where: ExecutionContext, user_blocked: Sequence[str] = ()
) -> tuple[Reason, ...]:
    """Reasons to refuse a command that cannot be parsed; empty if there are none."""
    return _distinct(_fallback_reasons(command, where, user_blocked, 0))


def _reasons(
    flat: FlatCommand,
    where: ExecutionContext,
    expander: Expander,
    user_blocked: Sequence[str],
    depth: int,
) -> Iterator[Reason]:
    command = expand_command(flat, where, expander, _GLOBBED)
    for call in command.calls:
        yield from _blocked_programs(call, command, user_blocked)
        for check in _CHECKS:
            yield from check(call, command)
    for one in flat.invocations:
        yield from find_redirect_overwrites(one, command)
        yield from find_emptied_keys(one, command)
        if depth < _DEEPEST:
            yield from _interpreted_code(one, command, user_blocked, depth)
    yield from find_full_disks(command)
    yield from find_fork_bombs(command)
    yield from find_remote_code(command)
    yield from find_secret_transfers(command)
    yield from find_planted_programs(flat)
    yield from find_history_losses(command)


def _fallback_reasons(
    text: str, where: ExecutionContext, user_blocked: Sequence[str], depth: int
) -> Iterator[Reason]:
    if fallback_parser.is_fork_bomb(text):
        yield Reason(f"{messages.FORK_BOMB}; {messages.START_A_FEW}", text)
    if depth <= _DEEPEST:
        flat = fallback_parser.parse_fallback(text)
        expander = Expander(bind_variables(None, flat, {}), where.home)
        yield from _reasons(flat, where, expander, user_blocked, depth + 1)


def _blocked_programs(
    call: ProgramCall, command: ExpandedCommand, user_blocked: Sequence[str]
) -> Iterator[Reason]:
    """Reasons to refuse a program, whatever its arguments are."""
    refusal = ALWAYS.get(call.name) if not call.in_workspace or call.name == "handrail" else None
    if refusal is None:
        starts = (one for start, one in ALWAYS_PREFIX.items() if call.name.startswith(start))
        refusal = next(starts, None)
    if refusal is None and _starts_handrail(call):
        refusal = SELF
    if refusal is DISK and (formats_workspace_file(call, command) or call.arguments == ("-V",)):
        refusal = None
    if refusal is not None and (refusal is SELF or not only_says(call.name, call.arguments)):
        yield call.reason(*refusal)
    told = [call.name, *(plain_text(field) for field in call.arguments)]
    for row in user_blocked:
        words = row.split()
        if words and told[: len(words)] == words:
            yield call.reason(messages.USER_BLOCKED.format(row=row), messages.ASK_THE_USER)


def _starts_handrail(call: ProgramCall) -> bool:
    fields = [plain_text(field) for field in call.arguments]
    if call.name in _LAUNCHERS:
        return any(field.partition("@")[0] == "handrail" for field in fields[:4])
    if not call.name.startswith(("python", "pypy")) or "-m" not in fields[:-1]:
        return False
    return fields[fields.index("-m") + 1].partition(".")[0] == "handrail"


def _interpreted_code(
    one: Invocation, command: ExpandedCommand, user_blocked: Sequence[str], depth: int
) -> Iterator[Reason]:
    """Reasons to refuse code that is passed to an interpreter."""

    def look(text: str) -> Iterator[Reason]:
        return _fallback_reasons(text, command.where, user_blocked, depth + 1)

    runner = find_interpreter(one.words)
    if runner is None:
        for text in _aliased(one, command):
            yield from look(text)
        yield from _foreign_code(one, command, look)
        return
    texts = [text for word in runner.code for text in word_texts(word, command)]
    if not runner.shell and any(map(deletes_its_input, texts)):
        for cwd in command.cwds(one):
            call = ProgramCall(program_basename(one.program or ""), (), cwd, one)
            yield from find_listed_losses(call, command)
    if not runner.shell:
        yield from _shell_input(one, command, texts, look)
    if runner.reads_input:
        texts += input_texts(one, command)
    for text in texts:
        if runner.shell:
            yield from (Reason(reason.text, one.source) for reason in look(text))
        else:
            found = find_code_damage(
                text, one.source, command.critical_paths, command.where.cwd, look
            )
            yield from (Reason(what, one.source) for what in found)


def _foreign_code(
    one: Invocation, command: ExpandedCommand, look: Callable[[str], Iterator[Reason]]
) -> Iterator[Reason]:
    """Reasons to refuse code for a program whose language has no reader of its own."""
    program = one.program or ""
    name = program_basename(program)
    in_workspace = "/" in program and not program.startswith("/")
    if name.lower() in WINDOWS_PROGRAMS and not in_workspace:
        line = [name, *(text for word in one.words[1:] for text in word_texts(word, command))]
        found = find_windows_damage(" ".join(line), command.critical_paths, command.where.cwd)
        yield from (
            Reason(
                f"{messages.WINDOWS_DAMAGE.format(what=what)}; {messages.ASK_THE_USER}", one.source
            )
            for what in found
        )
    if name not in EVALUATORS or in_workspace:
        return
    texts = [text for word in one.words[1:] for text in word_texts(word, command)]
    told = " ".join(texts) if name in WINDOWS_SHELLS else ""
    yield from _shell_input(one, command, texts, look)
    for text in (*texts, *input_texts(one, command), told):
        if _CODE.search(text):
            found = find_code_damage(
                text, one.source, command.critical_paths, command.where.cwd, look
            )
            yield from (Reason(what, one.source) for what in found)


def _shell_input(
    one: Invocation,
    command: ExpandedCommand,
    code: Sequence[str],
    look: Callable[[str], Iterator[Reason]],
) -> Iterator[Reason]:
    """Reasons to refuse what a shell reads that the code of another language starts."""
    runs = any(map(runs_its_input, code))
    if runs or any(_STARTS_SHELL.search(text[:_LONGEST_CODE]) for text in code):
        for text in input_texts(one, command):
            for each in (text, *(decoded_texts(text) if runs else ())):
                yield from (Reason(reason.text, one.source) for reason in look(each))


def _aliased(one: Invocation, command: ExpandedCommand) -> Iterator[str]:
    for word in one.words[1:] if one.program == "alias" else ():
        for text in word_texts(word, command):
            yield text.partition("=")[2]
    # Numbers of the shell: what is assigned to them is computed.
    for assignment in one.assignments:
        if assignment.value is not None and assignment.name in INTEGER_VARIABLES:
            yield from _COMPUTED.findall(assignment.value.source)


def _distinct(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    found: dict[Reason, None] = {}
    for reason in reasons:
        found[reason] = None
        if len(found) == _MOST_REASONS:
            break
    return tuple(found)
