"""The second opinion on git: which of its commands only look, and with which words."""

import re
from itertools import pairwise

from tests.support.recheck_tables import words
from tests.support.recheck_words import Suspicious

_BEFORE = words("--no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs")
_ASKED = words(
    "--version --help -h -v --exec-path --html-path --man-path --info-path --build-options"
)
# Whatever else they are told, they print.
_LOOKS = words("""
    status log diff show ls-files ls-tree cat-file shortlog rev-list rev-parse for-each-ref
    check-ignore count-objects name-rev grep blame annotate describe show-ref version var
    whatchanged diff-tree diff-files diff-index merge-base check-attr cherry range-diff verify-pack
    show-branch show-index
""")
# Options that write, run or ask others, wherever they stand; git takes their beginnings too.
_DOES = words("""
    --output --ext-diff --textconv --filters --open-files-in-pager --upload-pack --exec
    --show-signature --lost-found --edit --remerge-diff --recurse-submodules --contents
""")
_VALUED = words("-S -G -n -e --author --grep --since --until --after --before --format --pretty")
_SIGNED = re.compile(r".*%[-+ ]?G", re.DOTALL)
_FLAGS = re.compile("-[arviql]+")
_NOTHING = re.compile("(?!)")
_LISTING = r"-[arviq]*l.*|--list|--(no-)?(contains|merged)(=.*)?|--points-at(=.*)?"
# All that these may be told.
_ONLY = {
    "branch": rf"-[arviql]+|--(all|remotes|verbose|show-current|ignore-case|omit-empty|no-color"
    rf"|no-column|no-abbrev|(sort|format|color|column|abbrev)(=.*)?)|{_LISTING}",
    "tag": rf"-[li]*n.*|-[li]+|--(sort|format|color|column)(=.*)?|--(ignore-case|omit-empty|no-column)|{_LISTING}",
    "remote": r"-v|--verbose",
    "worktree": r"-[vz]+|--verbose|--porcelain",
    "submodule": r"-q|--quiet|--cached|--recursive|--files",
    "config": r"-z|--(get|get-all|show-origin|show-scope|name-only|null|bool|int|path|local|global"
    r"|system|worktree|includes|no-includes|bool-or-int|expiry-date|type=.*|default=.*)",
    "symbolic-ref": r"-q|--quiet|--short",
    "help": r"-[agc]+|--(all|guides|config|verbose|no-external-commands|no-aliases)",
}
# An option that git does not know it refuses.
_ONLY = {name: re.compile(rf"{pattern}|--version", re.DOTALL) for name, pattern in _ONLY.items()}
# The words of those that have commands of their own; None: without any.
_INNER = {
    "remote": (None, "get-url"),
    "stash": ("list", "show"),
    "worktree": ("list",),
    "submodule": (None, "status", "summary"),
    "reflog": (None, "show", "exists"),
    "notes": (None, "list", "show"),
    "bisect": ("log",),
}


def git(given):
    """Raise `Suspicious` if git could do more than look."""
    rest = list(given)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        # It refuses `--`, and answers; but a page that follows would be a command's.
        if option == "--" or (option in _ASKED and "--help" not in rest):
            return
        if option == "-C" and rest:
            _directory(rest.pop(0))
        elif option not in _BEFORE:
            raise Suspicious(f"git is told {str(option)!r}")
    if rest[1:] != ["-h"] and rest:
        _command(rest[0], rest[1:])


def _command(name, rest):
    if rest[:1] == ["--help"]:
        raise Suspicious(f"git shows the page of {name}")
    if name in _INNER:
        rest = _inner(name, rest)
    elif name not in _LOOKS and name not in _ONLY:
        raise Suspicious(f"git {name} is not known to only look")
    own = _options(rest, _FLAGS if name in ("branch", "tag") else _NOTHING)
    if name == "config":
        # Its options end at the first name.
        own, names = _parted(own)
        _shows(own, names)
    elif name in _ONLY:
        _told_only(name, own)
    for before, word in pairwise(["", *own]):
        # The value of such an option is text, if it stays one word.
        if before not in _VALUED or word.many:
            _does(name, word)


def _directory(word):
    """git looks there instead of here: below, and by a name that is known."""
    if word.many or "\x00" in word or word.startswith(("/", "~")) or ".." in word.split("/"):
        raise Suspicious(f"git goes to {str(word)!r}")


def _inner(name, rest):
    """The options behind a command of its own; what else is named there is shown."""
    first = next((one for one in rest if not one.startswith("-")), None)
    if first not in _INNER[name]:
        raise Suspicious(f"git {name} {first} is not known to only look")
    return [one for one in rest if one.startswith("-") or one.opens()]


def _options(rest, flags):
    """The words up to `--`, unless that may be the value of an option."""
    for before, (at, word) in zip(["", *rest], enumerate(rest), strict=False):
        if word == "--" and (not before.startswith("-") or flags.fullmatch(before)):
            return rest[:at]
    return rest


def _told_only(name, own):
    """Such a command changes what it is told to, unless it is told to list."""
    names = [one for one in own if one == "-" or not one.startswith("-")]
    listing = {"branch": _LISTING, "tag": rf"{_LISTING}|-i*n.*"}.get(name, "(?!)")
    lists = any(re.fullmatch(listing, one) for one in own)
    most = 1 if name == "symbolic-ref" else 0
    if sum(1 + one.many for one in names) > most and not lists:
        raise Suspicious(f"git {name} is told {' '.join(names)!r}")
    _knows(name, own)


def _parted(own):
    """The options in front of the first name, and the rest."""
    for at, word in enumerate(own):
        if word == "-" or not word.startswith("-"):
            return own[:at], own[at:]
    return own, []


def _shows(own, names):
    """A second name would be a value, unless it is told to show."""
    shows = {"--get", "--get-all"} & set(own)
    if sum(1 + one.many for one in names) > 1 and not shows:
        raise Suspicious(f"git config is told {' '.join(names)!r}")
    _knows("config", own)


def _knows(name, own):
    for before, word in pairwise(["", *own]):
        if name == "tag" and before in ("--sort", "--format"):
            continue
        if word.startswith("-") and word not in ("-", "--") and not _ONLY[name].fullmatch(word):
            raise Suspicious(f"git {name} is told {str(word)!r}")


def _does(name, word):
    option = word.partition("=")[0]
    if len(option) > 3 and any(one.startswith(option) for one in _DOES):
        raise Suspicious(f"git is told {str(word)!r}")
    if name == "grep" and re.match(r"-[^-ABCefmO]*O", word):
        raise Suspicious("git grep opens a pager")
    if _SIGNED.match(word) or word.opens():
        raise Suspicious(f"git is told {str(word)!r}")
