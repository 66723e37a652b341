"""Calls that only say what would be done, or how the program is used.

In doubt a call is not a dry run: what it would do decides then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

from handrail.shell.expand import UNKNOWN
from handrail.shell.tables.word_list import word_set


class _DryRun(NamedTuple):
    """How a program is asked for a dry run."""

    # The exact words.
    options: Set[str]
    # Options that take no value: what follows one of them is an option itself.
    flags: Set[str] = frozenset()
    # The short options that take no value and may be joined, with the one for a dry run first.
    letters: str = ""
    # The option is known only after one of these words.
    verbs: Set[str] = frozenset()


_APT: Final = _DryRun(
    word_set("-s --simulate --just-print --dry-run --recon --no-act"),
    word_set("""
        -y --yes --assume-yes -q -qq --quiet --purge --auto-remove --autoremove -f --fix-broken -V
        --allow-remove-essential --force-yes
    """),
)
_PACMAN: Final = _DryRun(
    word_set("-p --print"),
    word_set("--noconfirm --nodeps --cascade --recursive --nosave --unneeded --remove"),
    "pRcdnsu",
)
_KUBECTL: Final = _DryRun(
    word_set("--dry-run=client --dry-run=server"),
    word_set("--all --force --now -A --all-namespaces --ignore-not-found -R --recursive"),
)
_ANSIBLE: Final = _DryRun(
    word_set("-C --check"),
    word_set("-b --become -D --diff -v -vv -vvv -k --ask-pass -K --ask-become-pass"),
)
_LONG: Final = word_set("--dry-run")
_SHORT_OR_LONG: Final = word_set("-n --dry-run")
_DRY_RUNS: Final[Mapping[str, _DryRun]] = {
    "git": _DryRun(
        _SHORT_OR_LONG,
        word_set("""
            --force --force-with-lease --force-if-includes --all --branches --mirror --tags
            --follow-tags --delete --prune --atomic --set-upstream --no-verify --verbose --quiet
            --progress --porcelain
        """),
        "nfdquv46",
        word_set("push"),
    ),
    "rsync": _DryRun(
        _SHORT_OR_LONG,
        word_set("""
            --archive --recursive --verbose --quiet --progress --stats --human-readable --compress
            --itemize-changes --checksum --partial --inplace --numeric-ids --hard-links --force
            --ignore-errors --remove-source-files --del --delete --delete-before --delete-during
            --delete-delay --delete-after --delete-excluded --delete-missing-args
        """),
        "nvqcarRbudlLkKHpEAXogDtUNOJSWxyCzhPFimI0",
    ),
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _APT),
    "dpkg": _DryRun(word_set("--simulate --dry-run --no-act"), word_set("-r -P --remove --purge")),
    "apk": _DryRun(word_set("-s --simulate"), word_set("-q --quiet -v --verbose --purge")),
    "zypper": _DryRun(word_set("-D --dry-run"), word_set("-y --no-confirm -u --clean-deps")),
    "xbps-remove": _DryRun(_SHORT_OR_LONG, word_set("-R --recursive -y --yes -f -F")),
    **dict.fromkeys(("pacman", "yay", "paru"), _PACMAN),
    **dict.fromkeys(("kubectl", "oc"), _KUBECTL),
    "helm": _DryRun(
        _LONG | word_set("--dry-run=client --dry-run=server"),
        word_set("--wait --no-hooks --debug --keep-history --ignore-not-found"),
    ),
    "aws": _DryRun(
        word_set("--dryrun"), word_set("--recursive --delete --force --quiet"), verbs=word_set("s3")
    ),
    "rclone": _DryRun(_SHORT_OR_LONG, word_set("-v --verbose -P --progress --rmdirs")),
    "restic": _DryRun(_SHORT_OR_LONG, word_set("--prune -q --quiet -v --verbose")),
    "borg": _DryRun(_SHORT_OR_LONG, word_set("--force --list --stats -s -v --verbose")),
    "s3cmd": _DryRun(_SHORT_OR_LONG, word_set("-r --recursive -f --force --delete-removed")),
    "s5cmd": _DryRun(_LONG, word_set("--stat")),
    "npm": _DryRun(_LONG, word_set("-f --force")),
    "wrangler": _DryRun(_LONG, word_set("--force")),
    **dict.fromkeys(("ansible", "ansible-playbook"), _ANSIBLE),
}
# What takes an option back: `--no-dry-run`, and `--without-simulate` of apt.
_TAKEN_BACK: Final = re.compile(r"--?(?:no|false|without|off|disable)-?([^=]+).*")
_FALSE: Final = word_set("false f no n 0 none off disable")
# Other programs read `-help` as `-h -e lp`.
_ONE_DASH: Final = word_set("terraform tofu terragrunt packer consul nomad vault")
_SUBCOMMAND: Final = re.compile(r"[a-z][\w:-]*")
_MOST_SUBCOMMANDS: Final = 4


def is_dry_run(program: str, arguments: Sequence[str]) -> bool:
    """Whether the arguments ask only for what would be done, or for the program's help."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = arguments[:end]
    if _asks_for_help(program, words):
        return True
    known = _DRY_RUNS.get(program)
    return (
        known is not None
        and any(_is_asked(known, words, number) for number in range(len(words)))
        and not any(_takes_back(known, word) for word in words)
    )


def _asks_for_help(program: str, words: Sequence[str]) -> bool:
    """Whether the only option asks for help, and nothing but subcommands stands before it."""
    options = [number for number, word in enumerate(words) if word.startswith("-")]
    if len(options) != 1:
        return False
    first = options[0]
    dashes = ("-", "--") if program in _ONE_DASH else ("--",)
    name = words[first].lstrip("-")
    if words[first] not in [f"{one}{name}" for one in dashes]:
        return False
    # `cargo yank --version 1.0.0`.
    if name == "version":
        return first == 0
    before = words[:first]
    return (
        name == "help"
        and len(before) <= _MOST_SUBCOMMANDS
        and all(map(_SUBCOMMAND.fullmatch, before))
    )


def _is_asked(known: _DryRun, words: Sequence[str], number: int) -> bool:
    word = words[number]
    if word not in known.options and not _is_cluster(known, word, with_dry_run=True):
        return False
    if known.verbs and known.verbs.isdisjoint(words[:number]):
        return False
    after = words[number + 1] if number + 1 < len(words) else ""
    if after.lower() in _FALSE:
        return False
    before = words[number - 1] if number else ""
    if not before.startswith(("-", UNKNOWN)):
        return True
    # The word may be the value of the option before it.
    has_value = before.startswith("--") and "=" in before
    known_flag = before in known.flags or before in known.options
    return has_value or known_flag or _is_cluster(known, before, with_dry_run=False)


def _is_cluster(known: _DryRun, word: str, *, with_dry_run: bool) -> bool:
    """Whether a word is made of short options of which none takes a value."""
    letters = word[1:]
    if not letters or word[0] != "-" or not set(letters) <= set(known.letters):
        return False
    return not with_dry_run or known.letters[0] in letters


def _takes_back(known: _DryRun, word: str) -> bool:
    """Whether a word may say that the run is no dry run, however the option is abbreviated."""
    if word in known.options:
        return False
    names = list(_names(known))
    taken = _TAKEN_BACK.fullmatch(word)
    if taken is not None and any(name.startswith(taken[1]) for name in names):
        return True
    option, equals, _ = word.rpartition("=")
    if not equals:
        return False
    # `-s=no`, `--dry=none`, `-oAPT::Get::Simulate=no`, `-e ansible_check_mode=no`.
    given = option.lower().replace("_", "-")
    short = given.lstrip("-")
    if given.startswith("-") and short and any(name.startswith(short) for name in names):
        return True
    return any(name in given for name in names if len(name) > 1)


def _names(known: _DryRun) -> Iterator[str]:
    for option in known.options:
        yield option.lstrip("-").partition("=")[0].lower()
