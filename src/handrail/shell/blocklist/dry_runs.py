"""Calls that only say what would be done, or how the program is used.

In doubt a call is not a dry run: what it would do decides then. In most programs the last word
wins, so that every mention of the option has to ask for a dry run, and no unknown word may follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple

from handrail.shell.expand import UNKNOWN, UNSET
from handrail.shell.tables.word_list import word_set


class _DryRun(NamedTuple):
    """How a program is asked for a dry run."""

    # The exact words.
    options: Set[str]
    # Options that take no value: what follows one of them is an option itself.
    flags: Set[str] = frozenset()
    # The short options that take no value and may be joined, with the one for a dry run first.
    letters: str = ""
    # Only these subcommands know the option.
    verbs: Set[str] = frozenset()
    # Before the subcommand the option is another one.
    after_verb: bool = True
    # Other options that end the dry run.
    contrary: str = ""

    @property
    def names(self) -> Set[str]:
        """The options without dashes and values."""
        return {_bare(option) for option in self.options}


def _bare(option: str) -> str:
    """An option as programs compare it that ignore the spelling: `--dry-run` and `--dryRun=x`."""
    return option.partition("=")[0].replace("-", "").replace("_", "").lower()


_APT: Final = _DryRun(
    word_set("-s --simulate --just-print --dry-run --recon --no-act"),
    word_set("""
        --yes --assume-yes --quiet --purge --auto-remove --autoremove --fix-broken
        --allow-remove-essential --force-yes
    """),
    "syqfVmdu",
    contrary=r"-[a-zA-Z]*c.*|--config-file.*",
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
    word_set("--become --diff --ask-pass --ask-become-pass"),
    "CbDvkK",
)
_RPM: Final = _DryRun(
    word_set("--test"),
    word_set("""
        -e --erase -v -vv -h -ev -evv -evh --verbose --quiet --nodeps --allmatches --noscripts
        --notriggers --justdb
    """),
)
# With both answers the user is asked.
_DNF: Final = _DryRun(
    word_set("--assumeno"),
    word_set("-q --quiet -v --verbose --noautoremove --allowerasing --nobest"),
    contrary=r"-\w*y.*|--assumey.*|--yes.*",
)
_LONG: Final = word_set("--dry-run --dry-run=true")
_SHORT_OR_LONG: Final = _LONG | {"-n"}
_DRY_RUNS: Final[Mapping[str, _DryRun]] = {
    "git": _DryRun(
        _SHORT_OR_LONG,
        word_set("""
            --force --force-with-lease --force-if-includes --all --branches --mirror --tags
            --follow-tags --delete --prune --atomic --set-upstream --no-verify --verbose --quiet
            --progress --porcelain --no-pager --paginate --bare --no-optional-locks
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
    "dpkg": _DryRun(
        word_set("--simulate --dry-run --no-act"),
        word_set("""
            -r -P --remove --purge --force-all --force-depends --force-remove-essential
            --force-remove-protected --force-remove-reinstreq
        """),
    ),
    "rpm": _RPM,
    **dict.fromkeys(("dnf", "dnf5", "microdnf", "yum"), _DNF),
    "apk": _DryRun(word_set("-s --simulate"), word_set("--quiet --verbose --purge"), "sqv"),
    "zypper": _DryRun(
        word_set("-D --dry-run"),
        word_set("-y --no-confirm -u --clean-deps -n --non-interactive -q --quiet -v --verbose"),
        "Dyu",
        word_set("remove rm"),
    ),
    "xbps-remove": _DryRun(_SHORT_OR_LONG, word_set("--recursive --yes"), "nRyfFov"),
    **dict.fromkeys(("pacman", "yay", "paru"), _PACMAN),
    **dict.fromkeys(("kubectl", "oc"), _KUBECTL),
    "helm": _DryRun(
        _LONG | word_set("--dry-run=client --dry-run=server"),
        word_set("--wait --no-hooks --debug --keep-history --ignore-not-found"),
    ),
    "aws": _DryRun(
        word_set("--dryrun --dry-run"),
        word_set("""
            --recursive --delete --force --quiet --debug --no-cli-pager --no-paginate
            --no-verify-ssl --only-show-errors
        """),
        verbs=word_set("s3 ec2"),
    ),
    "rclone": _DryRun(_SHORT_OR_LONG, word_set("--verbose --progress --rmdirs"), "nvqP"),
    "restic": _DryRun(_SHORT_OR_LONG, word_set("--prune --quiet --verbose"), "nqv"),
    "borg": _DryRun(_SHORT_OR_LONG, word_set("--force --list --stats --verbose"), "nsvp"),
    "s3cmd": _DryRun(
        _SHORT_OR_LONG,
        word_set("--recursive --force --delete-removed --verbose --quiet --debug"),
        "nrfvqd",
        word_set("del rm sync put get"),
        after_verb=False,
    ),
    "s5cmd": _DryRun(_LONG, word_set("--stat")),
    "npm": _DryRun(_LONG, word_set("-f --force")),
    "wrangler": _DryRun(_LONG, word_set("--force")),
    **dict.fromkeys(("ansible", "ansible-playbook"), _ANSIBLE),
}
# `--no-dry-run`, and `--without-simulate` of apt.
_NEGATION: Final = re.compile(r"(?:no|false|without|off|disable)(.+)")
# apt reads a number as C does.
_FALSE: Final = re.compile(
    r"[\s+-]*(?:false|f|no|n|null|none|without|off|disable|0[0x]*)", re.IGNORECASE
)
# Other programs read `-help` as `-h -e lp`.
_ONE_DASH: Final = word_set("terraform tofu terragrunt packer consul nomad vault")
_SUBCOMMAND: Final = re.compile(r"[a-z][\w:-]*")
_MOST_SUBCOMMANDS: Final = 4
# A script may ignore its arguments.
_SCRIPT: Final = re.compile(r".*\.(?:sh|bash|zsh|py|pl|rb|js|ps1|bat|cmd)", re.IGNORECASE)


def is_dry_run(program: str, arguments: Sequence[str]) -> bool:
    """Whether the arguments ask only for what would be done, or for the program's help."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    if _asks_for_help(program, arguments[:end]):
        return True
    known = _DRY_RUNS.get(program)
    if known is None or any(_takes_back(known, word) for word in arguments):
        return False
    mentions = [number for number, word in enumerate(arguments) if _mentions(known, word)]
    # `--` may be the value of an option, too: what stands behind it may take the option back.
    return (
        bool(mentions)
        and mentions[-1] < end
        and _knows_option(known, arguments, mentions[0])
        and all(_is_asked(known, arguments, number) for number in mentions)
        and not any(map(_may_be_option, arguments[mentions[-1] + 1 :]))
    )


def only_says(program: str, arguments: Sequence[str]) -> bool:
    """Whether the only argument asks for the help or the version of a program."""
    return len(arguments) == 1 and _asks_for_help(program, arguments)


def _asks_for_help(program: str, words: Sequence[str]) -> bool:
    """Whether the only option asks for help, and nothing but subcommands stands before it."""
    options = [number for number, word in enumerate(words) if word.startswith("-")]
    if len(options) != 1 or _SCRIPT.fullmatch(program) or any(map(_may_be_option, words)):
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


def _may_be_option(word: str) -> bool:
    """Whether only the run time decides which option a word is, or whether it is one.

    The value of a variable counts where it begins a word: behind a known beginning it is the rest
    of a name. The output of a program may be split into words anywhere.
    """
    name = word.partition("=")[0]
    return UNKNOWN in word or word.startswith(UNSET) or (name.startswith("-") and UNSET in name)


def _mentions(known: _DryRun, word: str) -> bool:
    """Whether a word may be the option for a dry run, whatever it says about it."""
    if not word.startswith("-") or word in known.flags:
        return False
    if word in known.options:
        return True
    if not word.startswith("--"):
        letters = {option[1] for option in known.options if len(option) == 2}
        if not letters.isdisjoint(word[1:]):
            return True
        if len(word) == 2 or _is_cluster(known, word):
            return False
    bare = _bare(word)
    return any(name.startswith(bare) for name in known.names)


def _is_asked(known: _DryRun, words: Sequence[str], number: int) -> bool:
    """Whether a word that mentions the option asks for a dry run."""
    word = words[number]
    if word not in known.options and not _is_cluster(known, word):
        return False
    after = words[number + 1] if number + 1 < len(words) else ""
    return not _FALSE.fullmatch(after) and not _may_be_value(known, words, number)


def _knows_option(known: _DryRun, words: Sequence[str], number: int) -> bool:
    """Whether the subcommand knows the option that stands first at a place."""
    if not known.verbs:
        return True
    operands = (n for n, word in enumerate(words) if not word.startswith("-"))
    verb = next((n for n in operands if not _may_be_value(known, words, n)), None)
    if verb is None or words[verb] not in known.verbs:
        return False
    return verb < number or not known.after_verb


def _may_be_value(known: _DryRun, words: Sequence[str], number: int) -> bool:
    """Whether a word may be the value of the option before it."""
    before = words[number - 1] if number else ""
    if not before.startswith(("-", UNKNOWN)):
        return False
    has_value = before.startswith("--") and "=" in before
    known_flag = before in known.flags or before in known.options
    return not has_value and not known_flag and not _is_cluster(known, before)


def _is_cluster(known: _DryRun, word: str) -> bool:
    """Whether a word is made of short options of which none takes a value."""
    return len(word) > 1 and word[0] == "-" and set(word[1:]) <= set(known.letters)


def _takes_back(known: _DryRun, word: str) -> bool:
    """Whether a word may say that the run is no dry run, however the option is abbreviated."""
    if word in known.options:
        return False
    if known.contrary and re.fullmatch(known.contrary, word):
        return True
    if word.startswith("-") and _may_be_option(word):
        return True
    negated = _NEGATION.fullmatch(_bare(word)) if word.startswith("-") else None
    if negated is not None and any(name.startswith(negated[1]) for name in known.names):
        return True
    # `-oAPT::Get::Simulate=no`, `-e ansible_check_mode=no`, `--setopt=assumeno=0`.
    given = _bare(word.rpartition("=")[0].replace("=", ""))
    return any(name in given for name in known.names if len(name) > 1)
