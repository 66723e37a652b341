"""Removing packages without which the machine does not work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.tables.word_list import word_set

_PACKAGE_TOOLS: Final = word_set("""
    apt apt-get aptitude dpkg dnf microdnf yum rpm pacman yay paru apk zypper emerge snap xbps-remove
    pkg pkg_delete opkg
""")
_REMOVING: Final = re.compile(
    r"remove|purge|autoremove|erase|del|delete|-r|-P|--purge|--remove|-e|-R\w*|rm|--unmerge|-C|--delete"
)
_ESSENTIAL: Final = word_set("""
    libc6 glibc bash dash coreutils dpkg apt systemd init util-linux libc-bin base-files login passwd musl
    busybox linux kernel rpm base filesystem pam libpam-modules sudo openssh-server openssh snapd core
    python3 python3-minimal perl-base grub-pc grub2 network-manager linux-image-generic linux-image-amd64
""")
# The kernel under any of its names.
_KERNEL: Final = re.compile(
    r"(?:linux-(?:image|kernel|generic|lts|zen|hardened|virtual)|kernel)(?:-(?!headers|doc|source|devel|tools)[\w.+-]+)?"
)
# They print what is installed.
_EVERY_PACKAGE: Final = re.compile(
    r"(?:pacman|yay|paru) -Qq?e?q?|dpkg (?:-l|--list|--get-selections)|dpkg-query .*|rpm -qa?.*|apt list --installed|apk info"
    r"|(?:dnf|yum) list installed|zypper se\w* -i|snap list|xbps-query -l|pkg info|opkg list-installed|flatpak list"
)
_FILTER: Final = re.compile(
    r"(?:e?grep|rg|sed|comm|head|tail|fzf)\b(?! \^?ii)|g?awk .*/(?!\^ii ?/).+/"
)


def find_removed_packages(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse packages that a package manager removes."""
    fields = [plain_text(field) for field in call.arguments]
    if call.name not in _PACKAGE_TOOLS or not any(map(_REMOVING.fullmatch, fields)):
        return
    if call.is_dry_run:
        return
    # `sys-libs/glibc` of Gentoo, `libc6:amd64` of Debian, `core20` of Ubuntu.
    patterns = {re.sub(r".*/|[:=].*|\d+$", "", field) for field in fields} | set(fields)
    kernels = {one for one in patterns if _KERNEL.fullmatch(one) and _is_whole_kernel(one)}
    exact = sorted((_ESSENTIAL & patterns) | kernels)
    globs = sorted(one for one in patterns if "*" in one and _matches_essential(one))
    for name in (*exact, *globs):
        yield call.reason(messages.REMOVES_PACKAGE.format(name=name), messages.ASK_THE_USER)
    listed = call.invocation.extra_arguments or any(UNKNOWN in one for one in call.arguments)
    if listed and ("--nodeps" in fields or _lists_everything(command)):
        yield call.reason(messages.REMOVES_PACKAGE.format(name="*"), messages.ASK_THE_USER)


def _lists_everything(command: ExpandedCommand) -> bool:
    """Whether the command lists every installed package, and nothing leaves any out."""
    told = [" ".join(word.value or "" for word in one.words) for one in command.flat.invocations]
    filtered = any(_FILTER.match(text) for text in told)
    return not filtered and any(map(_EVERY_PACKAGE.fullmatch, told))


def _matches_essential(pattern: str) -> bool:
    return pattern == ".*" or any(fnmatchcase(one, pattern) for one in _ESSENTIAL)


def _is_whole_kernel(name: str) -> bool:
    """Whether a package is the kernel itself: one old version among others is not."""
    return re.search(r"\d+\.\d+", name) is None
