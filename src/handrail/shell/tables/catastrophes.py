"""Programs that are refused, and the harmless uses of such programs. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from handrail.shell.tables.word_list import word_set


class Refusal(NamedTuple):
    """What a program does that is refused, and what to do instead."""

    what: str
    instead: str


_RIGHTS: Final = Refusal(
    "it asks for the rights of another user",
    "run the command without it, or ask the user to run it",
)
_ACCOUNTS: Final = Refusal("it changes user accounts or privileges", "ask the user to change them")
_DISK: Final = Refusal(
    "it overwrites a disk or file system", "work on files in the workspace instead"
)
_POWER: Final = Refusal("it stops the machine", "end only what you started, by its job or id")
_SELF: Final = Refusal(
    "it would let a command steer Handrail itself", "call Handrail's tools, not its command line"
)
_KERNEL: Final = Refusal("it changes the running kernel", "ask the user to do it")

# Refused with whatever arguments.
ALWAYS: Final[Mapping[str, Refusal]] = {
    **dict.fromkeys(
        (
            "sudo",
            "sudoedit",
            "su",
            "doas",
            "pkexec",
            "run0",
            "gksu",
            "gksudo",
            "kdesu",
            "sux",
            "gosu",
            "su-exec",
            "runuser",
            "dzdo",
            "ksu",
            "calife",
            "super",
            "sudo-rs",
            "su-rs",
            "setuidgid",
        ),
        _RIGHTS,
    ),
    **dict.fromkeys(
        (
            *("visudo", "vipw", "vigr", "passwd", "chpasswd", "gpasswd", "newusers", "usermod"),
            *(
                "useradd",
                "userdel",
                "adduser",
                "deluser",
                "groupmod",
                "groupdel",
                "setcap",
                "chage",
            ),
        ),
        _ACCOUNTS,
    ),
    **dict.fromkeys(
        (
            *("mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "newfs_apfs", "newfs_hfs"),
            *(
                "blkdiscard",
                "lvremove",
                "vgremove",
                "pvremove",
                "pvcreate",
                "vgcfgrestore",
                "vgreduce",
                "lvreduce",
            ),
            *("swapoff", "nwipe", "fsfreeze"),
        ),
        _DISK,
    ),
    **dict.fromkeys(
        (
            *("shutdown", "reboot", "halt", "poweroff", "telinit", "killall5", "kexec"),
            *("pm-suspend", "pm-hibernate", "pm-powersave"),
        ),
        _POWER,
    ),
    **dict.fromkeys(("insmod", "rmmod", "modprobe"), _KERNEL),
    "handrail": _SELF,
}
# The same for every program whose name begins so.
ALWAYS_PREFIX: Final[Mapping[str, Refusal]] = {"mkfs.": _DISK, "newfs_": _DISK}

# Refused where they name a disk, unless they only look.
DISK_TOOLS: Final = word_set("""
    fdisk sfdisk cfdisk gdisk cgdisk sgdisk parted wipefs cryptsetup nvme hdparm sdparm
    sg_format diskutil badblocks zpool mdadm partx dmsetup debugfs tune2fs resize2fs fsck e2fsck
    xfs_repair growpart mount umount swapon shred srm wipe hdiutil asr btrfs gpart flashcp
    flash_erase nandwrite ddrescue dcfldd partclone.restore qemu-img bmaptool balena etcher dd_rescue
    rpi-imager usbimager dc3dd e2image xfs_copy fsarchiver partimage sg_write_same sg_sanitize blkzone
""")
# With nothing but these and the disk they only look.
LOOKING: Final[Mapping[str, frozenset[str]]] = {
    "fdisk": frozenset(("-l", "--list", "-x")),
    "sfdisk": frozenset(("-l", "--list", "-d", "--dump", "-J", "--json")),
    "gdisk": frozenset(("-l",)),
    "sgdisk": frozenset(("-p", "--print")),
    "parted": frozenset(("-l", "--list", "print", "-s")),
    "nvme": frozenset(("list", "id-ctrl", "id-ns", "smart-log")),
    "hdparm": frozenset(("-i", "-I", "-t", "-T")),
    "cryptsetup": frozenset(("status", "luksDump", "isLuks")),
    "mdadm": frozenset(("--detail", "-D", "--examine", "-E")),
    "diskutil": frozenset(("list", "info")),
    "tune2fs": frozenset(("-l",)),
    "qemu-img": frozenset(("info", "check", "map", "-f", "raw")),
    "partx": frozenset(("-s", "--show", "-l", "--list")),
}
DISK_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "zpool": frozenset(("destroy", "labelclear")),
    "zfs": frozenset(("destroy",)),
    "diskutil": frozenset(
        (
            *("eraseDisk", "eraseVolume", "zeroDisk", "randomDisk", "secureErase", "partitionDisk"),
            *("reformat", "deleteContainer", "deleteVolume"),
        )
    ),
    "nvme": frozenset(("format", "sanitize", "write-zeroes")),
    "cryptsetup": frozenset(("luksFormat", "erase", "luksErase", "reencrypt")),
    "dmsetup": frozenset(("remove_all", "wipe_table")),
    "mdadm": frozenset(("--zero-superblock",)),
    "btrfs": frozenset(("device", "delete")),
    "umount": frozenset(("-a", "--all")),
}
DISK: Final = _DISK

POWER_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "systemctl": frozenset(
        (
            *("poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "hybrid-sleep"),
            *("suspend-then-hibernate", "rescue", "emergency", "isolate", "soft-reboot"),
            *("poweroff.target", "reboot.target", "halt.target", "kexec.target", "rescue.target"),
        )
    ),
    "loginctl": frozenset(
        (
            *("poweroff", "reboot", "halt", "suspend", "hibernate", "terminate-user", "kill-user"),
            *("terminate-session", "terminate-seat"),
        )
    ),
    "rtcwake": frozenset(("off", "mem", "disk", "standby", "freeze")),
    "init": frozenset(("0", "1", "6", "s", "S")),
    **dict.fromkeys(
        ("busctl", "dbus-send", "gdbus", "qdbus"),
        frozenset(
            (
                *("PowerOff", "Reboot", "Halt", "Suspend", "Hibernate"),
                *(
                    "org.freedesktop.login1.Manager.PowerOff",
                    "org.freedesktop.login1.Manager.Reboot",
                ),
            )
        ),
    ),
}
POWER: Final = _POWER
# Programs that mine, and the addresses of their pools.
MINERS: Final = re.compile(
    r"(?i)xmrig\S*|xmr-stak\S*|(?:cpu|cg|bfg|eth|lol|nb|gminer|team|sg)-?miner\S*|minerd|t-rex|phoenixminer|nanominer|srbminer\S*"
)
MINING_POOL: Final = re.compile(r"(?i)(?:--?[\w-]+=)?stratum[\w+]*://")
# They control many machines at once; the words for all of them, and for stopping them.
FLEETS: Final = word_set("ansible salt salt-ssh knife mco bolt")
EVERY_MACHINE: Final = re.compile(r"all|\*|(?:name|fqdn|role|\*):\*|E@\.\*")
STOPS: Final = re.compile(
    r"(?:[\w-]+\.)*(?:win_)?(?:reboot|poweroff|power_off|shutdown|halt)(?:[=:]\S*)?|node::?reboot"
)
SELF: Final = _SELF
RIGHTS: Final = _RIGHTS
ACCOUNTS: Final = _ACCOUNTS

SHELLS: Final = word_set("""
    sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash nu elvish
""")
# How each language takes its program: options that carry code, and options with a value.
LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "python": ("cm", "WX"),
    "pypy": ("cm", "WX"),
    "perl": ("eE", "MmI"),
    "ruby": ("e", "rI"),
    "node": ("ep", "r"),
    "nodejs": ("ep", "r"),
    "bun": ("ep", "r"),
    "deno": ("", ""),
    "php": ("r", "d"),
    "lua": ("e", "l"),
    "luajit": ("e", "l"),
    "tclsh": ("", ""),
    "Rscript": ("e", ""),
    "R": ("e", "f"),
    "osascript": ("e", "l"),
    "groovy": ("e", ""),
    "julia": ("eE", ""),
    "raku": ("e", ""),
    "swift": ("e", ""),
    "guile": ("c", ""),
    "elixir": ("e", "r"),
    "awk": ("e", "vFfi"),
    "gawk": ("e", "vFfi"),
    "mawk": ("e", "vFfi"),
    "nawk": ("e", "vFfi"),
    "at": ("", "ftq"),
    "batch": ("", ""),
    "crontab": ("", "u"),
}
SHELL_FLAGS: Final = ("c", "oO")

# What brings text from another machine.
FETCHERS: Final = word_set("""
    curl wget wget2 fetch aria2c axel http https xh xhs httpie lynx links elinks w3m GET
    lwp-request lwp-download nc ncat netcat socat telnet ftp tftp sftp ssh scp dig host nslookup
    drill gopher kdig websocat rclone gsutil curlie hurl s3cmd
""")
# The same by one of their commands.
FETCHING_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "aws": frozenset(("s3", "s3api", "ssm")),
    "gh": frozenset(("api", "gist", "release")),
    "glab": frozenset(("api", "snippet")),
    "gcloud": frozenset(("storage",)),
    "az": frozenset(("storage",)),
    "ipfs": frozenset(("cat", "get")),
    "mc": frozenset(("cat",)),
    "kubectl": frozenset(("cp",)),
    "hdfs": frozenset(("dfs",)),
}


def fetches_text(name: str, arguments: Sequence[str | None]) -> bool:
    """Whether a program brings text from another machine."""
    verbs = FETCHING_VERBS.get(name, frozenset())
    return name in FETCHERS or not verbs.isdisjoint(arguments[:2])


# What hands its input on, changed or not.
WRAPPERS: Final = word_set("""
    env command exec nohup time nice ionice timeout stdbuf setsid busybox toybox builtin xargs
    sudo doas chrt taskset unbuffer ! proxychains torsocks torify caffeinate then do else
""")
