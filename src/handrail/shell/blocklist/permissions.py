"""Gaining rights, granting them to everybody, and changing those of system files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import piped_operands
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.tables.catastrophes import ACCOUNTS, RIGHTS

_CHANGERS: Final = frozenset(("chmod", "chown", "chgrp", "setfacl", "chattr", "chflags", "gchmod"))
_EVERYBODY: Final = re.compile(r"0*[0246]?777|(?:a|ugo|augo|ugoa)?[+=]rwx")
_PACKAGE_TOOLS: Final = frozenset(
    ("apt", "apt-get", "aptitude", "dpkg", "dnf", "yum", "rpm", "pacman", "apk", "zypper")
)
_REMOVING: Final = re.compile(
    r"remove|purge|autoremove|erase|del|-r|-P|--purge|--remove|-e|-R\w*|rm"
)
# Without one of these the machine does not work.
_ESSENTIAL: Final = frozenset(
    (
        *(
            "libc6",
            "glibc",
            "bash",
            "dash",
            "coreutils",
            "dpkg",
            "apt",
            "systemd",
            "init",
            "util-linux",
        ),
        *("libc-bin", "base-files", "login", "passwd", "musl", "busybox", "linux", "kernel", "rpm"),
    )
)
_SET_ID: Final = re.compile(r"0*[2467][0-7]{3}|[ugoa]*[+=][rwxX]*s[rwxXst]*")


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
_CONTAINERS: Final = frozenset(("docker", "podman", "nerdctl"))
_WHOLE_MACHINE: Final = re.compile(
    r"--privileged|(?:-v|--volume=)?/:/.*|.*(?:source|src)=/,.*|--pid=host|.*docker\.sock:.*"
)


def find_user_changes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a program that runs with the rights of root."""
    fields = [plain_text(field) for field in call.arguments]
    pattern = _SWITCHES.get(call.name)
    # An option and its value may be two words.
    joined = (f"{one}={after}" for one, after in pairwise(fields) if one.startswith("--"))
    if pattern is not None and any(map(pattern.fullmatch, (*fields, *joined))):
        yield call.reason(*RIGHTS)
    elif call.name in _CONTAINERS and {"run", "create", "exec"}.intersection(fields):
        if any(map(_WHOLE_MACHINE.fullmatch, fields)):
            yield call.reason(*RIGHTS)
    elif call.name == "chroot":
        target = next(iter(call.operands), "")
        if command.critical_paths.critical_loss(target, call.cwd, follow=True) is not None:
            yield call.reason(*RIGHTS)
    elif call.name in _PACKAGE_TOOLS and any(map(_REMOVING.fullmatch, fields)):
        needed = sorted(_ESSENTIAL.intersection(fields))
        yield from (
            call.reason(messages.REMOVES_PACKAGE.format(name=name), messages.ASK_THE_USER)
            for name in needed
        )


def find_permission_changes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a change of permissions or owners."""
    if call.name not in _CHANGERS:
        return
    if call.name in ("chmod", "gchmod"):
        yield from _modes(call, command)
    for field in (*call.operands, *piped_operands(call, command)):
        lost = command.critical_paths.critical_loss(field, call.cwd, follow=True)
        what = lost or command.critical_paths.system_target(field, call.cwd)
        if what is not None:
            yield call.reason(
                messages.CHANGES_RIGHTS.format(what=what), messages.CHANGE_WORKSPACE_FILES
            )
            return


def _modes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    # A mode may begin with a minus; it only ever takes rights away.
    modes = plain_text(call.operands[0]).split(",") if call.operands else []
    if any(_EVERYBODY.fullmatch(mode) for mode in modes):
        yield call.reason(messages.WORLD_WRITABLE, messages.GRANT_LESS)
    if any(_SET_ID.fullmatch(mode) for mode in modes):
        yield from _set_id(call, command)


def _set_id(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    roots = tuple(f"{root}/" for root in command.where.roots)
    for field in call.operands[1:]:
        if field.startswith("/") and not field.startswith(roots):
            yield call.reason(*ACCOUNTS)
            return
