"""What the second opinion knows of programs, by their manuals and by nothing else here.

A program that is in no table is held against the command.
"""

import re
from typing import NamedTuple


def words(text):
    """The words of a text, as a set."""
    return frozenset(text.split())


class Manual(NamedTuple):
    """A program that only looks, unless it is told one of these.

    `letters` and `names`: short and long options that do more; `plain`: names that are not the
    beginnings of those. `values`: letters that take a value, `attached` those that take the
    rest of their word; `named`: long options that take the next word. `most`: so many operands
    are only read. `refused`: operands that do more. `stops`: what follows an operand is one too.
    """

    letters: str = ""
    names: str = ""
    values: str = ""
    named: str = ""
    most: int | None = None
    refused: str = ""
    stops: bool = False
    attached: str = ""
    plain: str = ""

    def does_more(self):
        """Whether there is any option that does."""
        return bool(self.letters or self.names)


# Whatever these are told, they print.
PRINTERS = words("""
    : arch b2sum base32 base64 basename break cal cat cd cksum cmp col column comm continue cut df
    dir dirname du echo egrep exit expand expr factor false fgrep fmt fold free getconf grep groups hd
    eza head help hexdump id jobs join locale logname ls lsblk lscpu lsd md5sum nl nproc numfmt od paste
    pathchk pgrep pidof pinky pr printenv ps pwd readlink realpath return rev sha1sum sha224sum
    sha256sum sha384sum sha512sum shift stat sum tac tokei tput tr true tsort tty type ulimit uname
    unexpand uptime users vdir w wc whatis whereis which who whoami zcat bzcat xzcat lzcat zstdcat
    zgrep zipinfo jq gojq jaq diff tail loc lsmod bc
""")

_COUNTS = Manual(most=0)
MANUALS = {
    **dict.fromkeys(PRINTERS, Manual()),
    "ack": Manual(names="output pager ackrc", values="ABCm"),
    "ag": Manual("z", "pager search-zip", values="ABCGm"),
    "bat": Manual(names="pager config-file", values="lrHm", refused="cache"),
    "date": Manual("s", "set file", values="dfrsv", named="date", refused=r"[^+].*"),
    "diffstat": Manual("oO", values="DfnopNSwm"),
    "fd": Manual("xX", "exec exec-batch", values="eEtdScjoC"),
    "file": Manual("CmzZ", "compile magic-file uncompress", values="mfFPe"),
    "getent": Manual(refused=r"(ahosts.*|hosts|networks|netgroup)"),
    "hash": Manual("pd"),
    "hostname": Manual("Fb", "file boot", most=0),
    "iconv": Manual("o", "output", values="fto"),
    "ifconfig": Manual(most=1, stops=True),
    "iwconfig": Manual(most=1, stops=True),
    "mount": Manual("aorwtBMROoLUfnTF", "all bind move rbind make options types source", most=0),
    "nm": Manual(names="plugin", refused="@.*"),
    "objdump": Manual(names="plugin", refused="@.*"),
    "readelf": Manual(refused="@.*"),
    "rg": Manual(
        "z",
        "pre hostname-bin search-zip",
        values="efgtTmABCdjMrE",
        named="after-context before-context color colors context context-separator dfa-size-limit"
        " encoding engine field-context-separator field-match-separator file generate glob"
        " hyperlink-format iglob ignore-file max-columns max-count max-depth max-filesize"
        " path-separator pre-glob regex-size-limit regexp replace sort sortr threads type type-add"
        " type-clear type-not",
    ),
    "seq": Manual(refused=r".*\d{9,}.*"),
    "shopt": Manual("su"),
    "shuf": Manual("o", "output", values="ino", named="output"),
    "size": Manual(refused="@.*"),
    "sleep": Manual(refused=r"infinity|\d{4,}.*|.*[hd]"),
    "sort": Manual(
        "oT", "output compress-program files0-from temporary-directory", "kStoT", named="output"
    ),
    "ss": Manual("KDF", "kill diag filter"),
    "strings": Manual(refused="@.*"),
    "sysctl": Manual("wpf", "write load system", refused=".*=.*"),
    "tree": Manual("oR", values="LPIHTo"),
    "uniq": Manual(values="fsw", named="skip-fields skip-chars check-chars", most=1),
    "wait": Manual("p"),
    "xmllint": Manual("o", "output shell", refused=".*://.*"),
    "xxd": Manual(values="cglsonR", most=1, stops=True),
    "yq": Manual("is", "inplace in-place split-exp split-exp-file from-file", values="opI"),
    # Back to plain text on the standard output.
    **dict.fromkeys(words("gzip gunzip xz unxz bzip2 bunzip2 zstd"), _COUNTS),
    "tee": _COUNTS,
}
# With one of these, operands are only looked into.
INTO = {
    **dict.fromkeys(words("gzip gunzip xz unxz bzip2 bunzip2 zstd"), re.compile(r"-\w*[clt]\w*|--(list|test|stdout|to-stdout)")),
    "unzip": re.compile(r"-\w*[lptzZ]\w*"),
}  # fmt: skip
TAR = Manual(
    "xcruAIFg",
    "extract get create append update delete catenate concatenate checkpoint checkpoint-action"
    " use-compress-program to-command rsh-command rmt-command info-script new-volume-script"
    " index-file remove-files listed-incremental",
    "fbCXTgKNVFIHL",
    named="file exclude exclude-from directory",
    plain="list",
)
SED = Manual("if", "in-place file", "efl", named="expression")
UNZIP = Manual("d", values="xdP")
# The shell's own words that name variables.
NAMING = {
    **dict.fromkeys(words("export declare typeset readonly local"), Manual("niaAf")),
    "unset": Manual("fn"),
    "read": Manual("eaiu", values="pnNtd"),
}
RISKY = re.compile(
    r"(PATH|HOME|ENV|IFS|PS4|SHELL|EDITOR|VISUAL|PAGER|\w*PAGER|BROWSER|BASH_.*|LD_.*|DYLD_.*|GIT_.*"
    r"|PWD|OLDPWD|LESS.*|PYTHON.*|NODE_.*|PERL.*|RUBY.*|JAVA_.*|XDG_.*|\w*_(?i:proxy)|GCONV_PATH|TAR_OPTIONS"
    r"|RIPGREP_.*|PROMPT_COMMAND|SHELLOPTS|TMPDIR|LOCPATH|GREP_.*|MANPAGER|PIP_.*|NPM_.*|npm_.*"
    r"|CARGO_.*|RUSTFLAGS|RUSTC.*|GO\w*|CDPATH|GLOBIGNORE|MAIL.*|HIST.*|TZ|TERMINFO.*|POSIXLY.*|BLOCK.*)"
)

# Programs that run code, unless this is all that they are told.
_QUESTION = r"(?:-V|-v|-vV|-version|--version|version|--help|-h|help)"
_ASKED = rf"{_QUESTION}(?: {_QUESTION})*"
TOLD = {
    **dict.fromkeys(
        words("python python3 node ruby perl php java javac go rustc gcc clang make cmake deno bun")
        | words(
            "yarn pnpm poetry uv docker kubectl terraform helm gh mvn gradle dotnet rustup gem bundle"
        )
        | words(
            "as ping telnet yes unlink shred truncate link mkfifo mktemp install dd patch ln cp mv mkdir rmdir touch chmod chown"
        ),
        _ASKED,
    ),
    "pip": rf"{_ASKED}|(-q |-v |-- )*(list|freeze|check|show|help)"
    r"( (-[lvef]|--(format[= ].*|local|user|editable|files|verbose|not-required|all|exclude.*|help|version)|[^-].*))*",
    "npm": rf"-l|{_ASKED}|(-s )*(list|ls|ll|la|root|prefix|bin)"
    r"( (-[aglp]+|--(all|json|long|parseable|global|depth[= ]\S*|omit[= ]\S*|link|prod|dev|version|help)|-|[^-]\S*))*( -- .*)?",
    "cargo": rf"{_ASKED}|--list|-Vv",
    "cowsay": "",
    "timedatectl": rf"|{_ASKED}|status|show",
    "man": rf"{_ASKED}|(-k|-f|-w|--apropos|--whatis|--where)( .*)?",
    "apropos": r".*",
    # Asked for nothing else, these say who they are.
    **dict.fromkeys(
        words("""
            rm rmdir cp mv ln touch mkdir chmod split csplit dd tee kill nano vi vim emacs less build
            jupyter pytest mypy ruff black curl wget ssh rsync sudo su doas bash sh zsh dash brew
            tsc eslint prettier jest openssl whois meson ltrace pip-audit gawk npx zig bandit chown install setfacl nc clang-format nsenter unshare chroot setsid flock watch strace gdb tmux screen crontab at dmesg
        """),
        "--version|--help|-V",
    ),
    **dict.fromkeys(("rpm", "ssh-keygen"), "--version|--help|-v"),
}
TOLD = {name: re.compile(pattern, re.DOTALL) for name, pattern in TOLD.items()}

# What runs its arguments, and the options with which it does more than that.
CARRIERS = {
    **dict.fromkeys(words("builtin command nohup"), Manual(stops=True)),
    "env": Manual("SCi", "split-string chdir ignore-environment", "u", stops=True),
    "exec": Manual("c", values="a", stops=True),
    "ionice": Manual("pPu", values="cn", stops=True),
    "nice": Manual(values="n", stops=True),
    "stdbuf": Manual(values="ioe", named="input output error", stops=True),
    "time": Manual("o", "output", "f", stops=True),
    "timeout": Manual(values="ks", most=1, stops=True),
    "xargs": Manual(
        "ao", "arg-file open-tty process-slot-var", "EILnPsd", attached="iel", stops=True
    ),
}

FIND_DOES = words("-delete -fprint -fprint0 -fprintf -fls -files0-from")
FIND_RUNS = words("-exec -execdir -ok -okdir")
FIND_VALUES = words(
    "-name -iname -path -ipath -regex -iregex -newer -type -printf -size -mtime -perm -user -lname"
)
