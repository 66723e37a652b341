"""Overwriting system files, disks and file systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from handrail.core.commands import ExecutionContext, Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.blocklist.deletes import input_sources
from handrail.shell.blocklist.passed_texts import input_texts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.parse.syntax import Redirect
from handrail.shell.tables.catastrophes import DISK, DISK_TOOLS, DISK_VERBS, LOOKING
from handrail.shell.tables.text_arguments import takes_text_as_data
from handrail.shell.tables.word_list import word_set

_WRITERS: Final = frozenset(("tee", "truncate", "sponge", "shred", "fallocate"))
_COPIERS: Final = frozenset(("cp", "mv", "ln", "install", "rsync", "scp", "ditto", "gcp", "gmv"))
# A device with a file system or a partition table, alone or as the value of an option.
_BLOCK_DEVICE: Final = re.compile(
    r"(?:-[\w-]+=|\w+[:=])?/dev/(?:sd[a-z]+|vd[a-z]|xvd[a-z]|hd[a-z]|nvme\d+n\d+|mmcblk\d+|md\d+|dm-\d+|r?disk\d+"
    r"|(?:mapper|disk)/.+)(?:p?\d+|s\d+)?(?:,.*)?"
)
_DEVICE_READERS: Final = word_set("""
    dd gdd smartctl blkid lsblk udevadm udisksctl findmnt lsof fuser iostat iotop lshw hwinfo inxi
    testdisk photorec ddrescueview fatlabel e2label dumpe2fs xfs_info btrfs-find-root file docker podman
    rsync scp borg restic qemu-system-x86_64 kvm virsh ssh xargs env timeout nice time strace watch
""")
# Where removable disks are mounted.
_MOUNT_POINT: Final = re.compile(r"/(?:mnt|media|Volumes|run/media)/.+")
# `mkfs.ext4 disk.img 100M`.
_SIZE: Final = re.compile(r"\d+[bkKmMgGtTs]?")
_OUTPUTS: Final = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_INSTALLED: Final = (("t", "target"), ("", "prefix"), ("", "root"))
# Their `-o` means something else.
_OTHER_O: Final = _COPIERS | {
    *(
        "tar",
        "gtar",
        "bsdtar",
        "unzip",
        "7z",
        "cpio",
        "ssh",
        "sftp",
        "mount",
        "strace",
        "lsof",
        "ps",
    ),
}
# With commands as an option they do not wait for the user.
_EDITORS: Final = frozenset(("ex", "vi", "vim", "nvim", "ed"))
_IN_PLACE: Final = _EDITORS | {"sed", "gsed", "perl", "ruby"}
_DOWNLOADS: Final = {"curl": ("o", "output"), "wget": ("O", "output-document")}

# The ways in which `ssh` is told to connect to the machine that it runs on.
_THIS_MACHINE: Final = re.compile(
    r"(?i)(?:^|[@=/\[\s])(?:(?:[\w-]++\.)?localhost[\w.-]*+|ip6-\w++|::1|0|\d{8,}+|0x[\da-f]++"
    # Every dotted number but an ordinary address: `127.1`, `0177.0.0.1`, `0x7f.1`.
    r"|(?!(?!127\.)[1-9]\d{0,2}(?:\.\d{1,3}){3}(?:$|[:\]/]))(?:0x[\da-f]++|\d++)(?:\.(?:0x[\da-f]++|\d++))++)"
    r"(?:$|[:\]/])"
)


def find_overwrites(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what the program overwrites."""
    if call.name in ("dd", "dcfldd", "gdd"):
        targets = [field[3:] for field in call.arguments if field.startswith("of=")]
        yield from _overwritten(call, command, targets)
    elif call.name in _WRITERS:
        yield from _overwritten(call, command, call.operands)
    elif call.name in _COPIERS:
        target = call.option_value("t", "target-directory") if call.name != "scp" else None
        last = call.operands[-1:] if len(call.operands) > 1 else []
        follow = call.name not in ("mv", "ln")
        yield from _overwritten(call, command, [target] if target else last, follow=follow)
    elif call.name in _IN_PLACE:
        if any(_in_place(call.name, field) for field in call.options):
            yield from _overwritten(call, command, call.operands)
    elif call.name in _DOWNLOADS:
        yield from _downloaded(call, command)
    elif call.name in ("pip", "pip3", "npm", "uv"):
        places = (call.option_value(*names) for names in _INSTALLED)
        yield from _overwritten(call, command, [one for one in places if one])
    elif call.name in ("tar", "bsdtar", "unzip", "unsquashfs", "7z", "cpio", "bsdcpio"):
        yield from _unpacked(call, command)
    elif call.name == "git" and "clone" in call.arguments:
        yield from _overwritten(call, command, call.operands[-1:])


def find_replaced_keys(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a new key in the place of the user's own.

    `ssh-keygen` asks before it replaces one; here the answer is given in advance.
    """
    path = call.option_value("f") if call.name == "ssh-keygen" else None
    if path is None or not command.critical_paths.is_private_key(path, call.cwd):
        return
    answers = [*input_texts(call.invocation, command)]
    if answers or input_sources(call.invocation, command.flat.invocations):
        yield call.reason(messages.OVERWRITES.format(what=path), messages.ASK_THE_USER)


def find_output_overwrites(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse the file that an option for output names, whatever the program is."""
    if call.name not in _OTHER_O and not takes_text_as_data(call.name):
        target = call.option_value("", "output", "outfile") or _after(call, "-o")
        yield from _overwritten(call, command, [target] if target else [])


def find_redirect_overwrites(invocation: Invocation, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what a redirect overwrites."""
    for redirect in invocation.redirects:
        if redirect.operator not in _OUTPUTS or _adds_public_key(redirect, invocation, command):
            continue
        for cwd in command.cwds(invocation):
            for fields in command.expander.likely([redirect.target], cwd):
                for field in fields:
                    what = command.critical_paths.system_target(field, cwd)
                    if what is not None:
                        yield Reason(
                            f"{messages.OVERWRITES.format(what=what)}; {messages.WRITE_INSIDE_WORKSPACE}",
                            invocation.source,
                        )
                        return


def _adds_public_key(redirect: Redirect, one: Invocation, command: ExpandedCommand) -> bool:
    """Whether another machine is given a public key of this one, as `ssh-copy-id` does."""
    if redirect.operator != ">>" or "ssh" not in one.wrapped_by:
        return False
    among = command.flat.invocations
    feeds = [*input_sources(one, among)]
    carriers = [each for each in among if each.program == "ssh"]
    read = [word.value or "" for feed in feeds for word in feed.words[1:]]
    for carrier in carriers:
        read += [each.target.value or "" for each in carrier.redirects if each.operator == "<"]
    places = [word.value for carrier in carriers for word in carrier.words[1:]]
    if any(place is None or _THIS_MACHINE.search(place) for place in places):
        return False
    # An option may name any way to any machine.
    if any(place is not None and place.startswith(("-o", "-F", "-J", "-W")) for place in places):
        return False
    # A file that the command itself makes or fetches could hold the key of anybody.
    others = [each for each in among if each not in feeds and each not in carriers]
    names = tuple(path.rpartition("/")[2] for path in read)
    told = [word.value or "" for each in others for word in each.words]
    told += [each.target.value or "" for one in among for each in _written(one)]
    made = any(each.endswith(names) for each in told)
    target = redirect.target.value or ""
    is_key = bool(read) and all(path.endswith(".pub") for path in read)
    return is_key and not made and target.endswith("/.ssh/authorized_keys")


def _written(one: Invocation) -> list[Redirect]:
    return [each for each in one.redirects if each.operator in _OUTPUTS]


def find_system_writes(paths: Iterable[str], where: ExecutionContext) -> Iterator[Reason]:
    """Reasons to refuse the paths that the classifier found to be written."""
    places = CriticalPaths(where)
    for path in paths:
        what = places.system_target(path, None)
        if what is not None:
            yield Reason(
                f"{messages.CHANGES.format(what=what)}; {messages.WRITE_INSIDE_WORKSPACE}", path
            )
            return


def find_disk_damage(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a disk tool that names a disk and does more than inspect it."""
    verbs = DISK_VERBS.get(call.name, frozenset())
    named = any(command.critical_paths.is_disk(field) for field in _values(call.arguments))
    if (
        not verbs.isdisjoint(call.arguments)
        or (named and call.name in DISK_TOOLS and not _looks(call))
        or (_may_write_devices(call) and any(map(_BLOCK_DEVICE.fullmatch, call.arguments)))
    ):
        yield call.reason(*DISK)
    elif call.name in ("mount", "umount") and call.operands:
        for field in call.operands:
            if _MOUNT_POINT.fullmatch(field) is None and (
                command.critical_paths.critical_loss(field, call.cwd, follow=True) is not None
            ):
                yield call.reason(
                    messages.MOUNTS_OVER.format(path=plain_text(field)), messages.LEAVE_MOUNTS
                )
                return


def _may_write_devices(call: ProgramCall) -> bool:
    """Whether a disk among the arguments may be written: only readers are known not to."""
    reads = call.name in _DEVICE_READERS or call.name in DISK_TOOLS
    return not (reads or call.in_workspace or takes_text_as_data(call.name))


def formats_workspace_file(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether `mkfs` and its like make a file system in a file of the workspace, such as an image."""
    if not call.name.startswith(("mk", "newfs")):
        return False
    return bool(call.operands) and all(
        command.critical_paths.is_in_workspace(one, call.cwd) or _SIZE.fullmatch(one)
        for one in call.operands
    )


def _looks(call: ProgramCall) -> bool:
    """Whether the tool only inspects the disk."""
    looking = LOOKING.get(call.name, frozenset())
    rest = [field for field in call.arguments if not field.startswith("/dev/")]
    # `parted -s` alone takes its commands from standard input.
    return bool(rest) and looking.issuperset(rest) and rest != ["-s"]


def _values(fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        yield field
        yield field.rpartition("=")[2]


def _overwritten(
    call: ProgramCall, command: ExpandedCommand, fields: Iterable[str], *, follow: bool = True
) -> Iterator[Reason]:
    for field in dict.fromkeys(fields):
        what = command.critical_paths.system_target(field, call.cwd, follow=follow)
        if what is not None:
            yield call.reason(messages.CHANGES.format(what=what), messages.WRITE_INSIDE_WORKSPACE)
            return


def _after(call: ProgramCall, option: str) -> str | None:
    """The word after an option, if it is a whole path."""
    found = (after for one, after in pairwise(call.arguments) if one == option)
    return next((one for one in found if one.startswith("/")), None)


def _in_place(name: str, option: str) -> bool:
    if name in _EDITORS:
        return option[:2] != "--" and not set("csS").isdisjoint(option)
    if name in ("sed", "gsed"):
        if option.startswith("--"):
            return option.startswith("--i")
        return "i" in option[1:].partition("e")[0]
    return "i" in option[1:].partition("e")[0] and not option.startswith("--")


def _downloaded(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    short, name = _DOWNLOADS[call.name]
    targets = [call.option_value(short, name)]
    if call.name == "wget":
        targets.append(call.option_value("P", "directory-prefix"))
    yield from _overwritten(call, command, [one for one in targets if one])


def _unpacked(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    if call.name in ("tar", "bsdtar"):
        cluster = call.arguments[0].lstrip("-") if call.arguments else ""
        if not ("x" in cluster or call.has_option("x", "extract", "get")):
            return
        target = call.option_value("C", "directory")
    elif call.name in ("cpio", "bsdcpio"):
        extracts = call.has_option("i", "extract")
        target = call.option_value("D", "directory") or call.cwd if extracts else None
    else:
        target = call.option_value("d") if call.name[:2] == "un" else call.option_value("o")
    yield from _overwritten(call, command, [target] if target else [])
