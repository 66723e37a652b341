"""A second opinion on commands that were called safe, sharing nothing with the first.

It reads a command letter by letter, and knows a short list of programs that only look and the
words with which they would do more. What it does not understand it holds against the command.
"""

import posixpath
import re
from itertools import pairwise


def words(text):
    """The words of a text, as a set."""
    return frozenset(text.split())


LOOKERS = words("""
    : [ [[ ag arch b2sum base32 base64 basename break bzcat cal cat cd cksum cloc cmp col column comm
    command continue cut date df diff dir dirname du echo egrep env exit expand expr factor false fd
    fgrep file find fmt fold free getconf getent git grep groups gunzip hash hd head help hexdump
    ack gojq jaq hostname iconv id ifconfig info iwconfig join jobs jq less loc local locale logname ls lsd lsblk lscpu man md5sum more
    mount nl nm nproc numfmt objdump od paste pathchk pgrep pidof pinky pr printenv printf ps pwd read
    readelf readlink realpath return rev rg sed seq sha1sum sha224sum sha256sum sha384sum sha512sum
    shift shuf size sleep sort stat strings sum tac tail tar test time tokei tput tr tree true tsort tty
    type ulimit uname unexpand uniq unzip uptime users vdir w wait wc whatis whereis which who whoami
    xargs xmllint xxd xzcat lzcat lzmore yq zcat zgrep zipinfo zstdcat apropos nice nohup timeout stdbuf builtin
    busybox toybox set shopt export declare typeset readonly unset alias pushd popd dmesg ss sysctl
    exec
""")
# Programs that run code, unless this is all that they are told.
_ASKED = r"-V|-v|-vV|-version|--version|version|--help|-h|help"
TOLD = {
    **dict.fromkeys(
        words("python python3 node ruby perl php java javac go rustc gcc clang make cmake deno bun")
        | words(
            "yarn pnpm poetry uv docker kubectl terraform helm gh mvn gradle dotnet rustup gem bundle"
        ),
        rf"({_ASKED})( ({_ASKED}))*",
    ),
    **dict.fromkeys(
        words("pip pip0 pip2 pip3"), rf"(-q )*({_ASKED}|list|freeze|check|show|debug)( .*)?"
    ),
    **dict.fromkeys(words("tee gzip xz bzip2 zstd cowsay"), "(-z)?"),
    "npm": rf"(-l|{_ASKED}|list|ls|root|prefix)( .*)?",
    "cargo": rf"{_ASKED}|--list|-Vv",
}
HARMFUL = {
    "find": r"-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)\b",
    "fd": r"(-x|-X|--exec|--exec-batch)",
    "rg": r"(--pre|--hostname-bin|-z|--search-zip)",
    "ag": r"(--pager|-z|--search-zip)",
    "sort": r"(-\w*o|--o|--compress-program|--files0-from|-T|--temp)",
    "shuf": r"(-\w*o|--o)",
    "tree": r"(-\w*o|--o|-R)",
    "sed": r"(-\w*i|--i|-f|--file|-s\b.*w)",
    "date": r"(-\w*s|--s|\d{8})",
    "hostname": r"[^-].*|-F|-b|--file|--boot",
    "git": r"--(output|ext-diff|filters|textconv|upload-pack|open-files-in-pager).*",
    "tar": r"--(extract|create|append|update|delete|checkpoint|use|to-command|rsh|info-script"
    r"|new-vol|directory|remove|get|concatenate).*|-[xcruAIF]",
    "tail": r"(-\w*[fF]|--follow.*|--retry)",
    "xxd": r"-\w*r",
    "awk": r".*",
    "jq": r"(-f|--from-file|-L)",
    "yq": r"(-i|--inplace|-s|--split.*|-f)",
    "file": r"(-C|--compile|-m|--magic-file|-z|-Z|-p)",
    "man": r"(-P|--pager.*|-H|--html.*|-C|--config.*)",
    "less": r"(\+.*|-k|--lesskey.*|-o|-O|--log.*)",
    "diff": r"(--to-file|-l|--paginate)",
    "mount": r"[^-].*|-[aorwtBMRO].*|--.*",
    "uniq": r"\x00",
    "hash": r"-[pdr]",
    "set": r".*",
    "alias": r".*=.*",
    "unset": r"(PATH|HOME)",
    "printf": r"-v",
    "test": r"-[vR]",
    "[": r"-[vR]",
    "[[": r"-[vR]",
    "dmesg": r"-\w*[CcDEn]|--clear.*|--console.*",
    "sysctl": r"(-w|--write|-p|--load.*|-f|--system|.*=.*)",
    "ip": r"(add|del|set|flush|change|replace)",
    "ifconfig": r"(up|down|add|del)",
    "iconv": r"(-o|--output.*)",
    "seq": r"\d{9,}",
    "sleep": r"infinity",
    "env": r"(-S|--split.*|-i|--chdir.*|-C)",
    "watch": r".*",
    "xmllint": r"(--output|--noout.*=.*|-o)",
}
HARMFUL = {name: re.compile(pattern) for name, pattern in HARMFUL.items()}
# What runs its arguments: everything behind it is looked at as a program too.
CARRIERS = words("exec xargs env command builtin time nice nohup timeout stdbuf busybox toybox")
GIT_BEFORE = r"-c|-C|--exec-path|--git-dir|--work-tree|--config-env|--namespace"
GIT_LOOKS = words("""
    status log diff show branch tag remote ls-files ls-tree cat-file shortlog stash worktree submodule
    config rev-list rev-parse for-each-ref check-ignore count-objects name-rev grep help blame describe
    reflog show-ref symbolic-ref version var whatchanged diff-tree diff-files diff-index merge-base
    check-attr annotate cherry range-diff verify-pack fsck show-branch
    """)
FIND_VALUES = ("-name", "-iname", "-path", "-ipath", "-regex", "-newer", "-type", "-printf")
LISTING = re.compile(r"-\w*[lvZtpzc]|--list|--stdout|--to-stdout|--test|--version|--help")
RISKY = re.compile(
    r"(PATH|HOME|ENV|IFS|PS4|SHELL|EDITOR|VISUAL|PAGER|\w*PAGER|BROWSER|BASH_.*|LD_.*|DYLD_.*|GIT_.*"
    r"|LESS.*|PYTHON.*|NODE_.*|PERL.*|RUBY.*|JAVA_.*|XDG_.*|\w*_(?i:proxy)|GCONV_PATH|TAR_OPTIONS"
    r"|RIPGREP_.*|PROMPT_COMMAND|SHELLOPTS|TMPDIR|LOCPATH|GREP_.*|MANPAGER|PIP_.*|NPM_.*|npm_.*"
    r"|CARGO_.*|RUSTFLAGS|RUSTC.*|GO\w*|CDPATH|GLOBIGNORE|MAIL.*|HIST.*|TZ|TERMINFO.*|POSIXLY.*|BLOCK.*)"
)
VALUES = {"tail": ("-n", "-c"), "tree": ("-L", "-I", "-P")}
OPENS = re.compile(r"-?\w*f")
RESERVED = words("if then elif else fi while until do done esac ! { } in time")
TARGETS = words("/dev/null /dev/stdout /dev/stderr /dev/tty")


class Suspicious(Exception):
    """The second opinion differs."""


def recheck(command):
    """Raise `Suspicious` if the command could write, run or reach out."""
    _Reader(command, 0).script()


def without_values(told, options):
    """The words that are not the value of one of the options."""
    return [word for before, word in pairwise(["", *told]) if before not in options]


def told_itself(base, told):
    """The words that can be options: not the values of others, nor plain text."""
    if base == "tar":
        # What follows `f` is the archive, whatever it looks like.
        return [word for before, word in pairwise(["", *told]) if not OPENS.fullmatch(before)]
    if base == "printf":
        return told[:1]
    if base in ("xxd", "ifconfig") and len([one for one in told if one[:1] != "-"]) < 2:
        # Back to standard output; an interface is shown, whatever it is called.
        return [one for one in told if one[:1] == "-" and one != "-r"]
    return without_values(told, VALUES.get(base, ()))


class _Reader:
    def __init__(self, text, depth, functions=()):
        if depth > 20:
            raise Suspicious("nested too deep")
        self.text = text
        self.at = 0
        self.depth = depth
        self.functions = set(functions)
        self.heredocs = []

    def script(self):
        words = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            elif words[:1] == ["[["] and words[-1] != "]]":
                start = self.at
                words.append(self.word(test=True))
                # What ends a word elsewhere is only a character here.
                self.at += self.at == start
            elif char in "\n;&|()":
                self.operator(char, words)
                words = []
            elif self.redirect():
                continue
            else:
                words.append(self.word())
                if words[-1] in RESERVED and len(words) == 1:
                    words = []
        self.simple(words)

    def operator(self, char, words):
        rest = self.text[self.at :]
        if rest.startswith("&>"):
            self.at += 2 + rest[2:].startswith(">")
            self.target()
            self.simple(words)
            return
        if char == "(" and len(words) == 1 and re.match(r"\(\s*\)", rest):
            self.functions.add(words[0])
            self.at += rest.index(")") + 1
            return
        if char == "(" and rest.startswith("((") and not words:
            end = self.text.find("))", self.at)
            if end < 0:
                raise Suspicious("arithmetic without end")
            self.inner(self.text[self.at + 2 : end])
            self.at = end + 2
            return
        self.at += 1
        self.simple(words)
        if char == "\n":
            self.skip_heredocs()

    def redirect(self):
        found = re.compile(r"(\d*|\{\w+\})(<<<|<<-?|<>|>>|>\||>&|<&|>|<)(?!\()").match(
            self.text, self.at
        )
        if not found:
            return False
        self.at = found.end()
        if found[2] in ("<<", "<<-"):
            self.blank()
            raw = self.at
            self.heredocs.append((self.word(), any(c in self.text[raw : self.at] for c in "'\"\\")))
        elif found[2] in ("<", "<&", "<<<"):
            self.blank()
            if self.word().startswith(("/dev/tcp", "/dev/udp")):
                raise Suspicious("reads from the network")
        else:
            self.target()
        return True

    def target(self):
        self.blank()
        word = self.word().rstrip("/")
        if posixpath.normpath(word) not in TARGETS and not re.fullmatch(r"\d*-?", word):
            raise Suspicious(f"writes to {word!r}")

    def blank(self):
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def skip_heredocs(self):
        for mark, quoted in self.heredocs:
            lines = []
            while self.at < len(self.text):
                line, _, _ = self.text[self.at :].partition("\n")
                self.at += len(line) + 1
                if line.lstrip("\t") == mark:
                    break
                lines.append(line)
            if not quoted:
                self.inner("\n".join(lines))
        self.heredocs = []

    def word(self, *, test=False):
        """One word, quotes removed; what it substitutes is looked at on the way."""
        made = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n" or (char in ";&|()<>" and not self.process() and not test):
                break
            if test and char in "()<>;&|" and not self.process():
                made += char
                self.at += 1
                continue
            made += self.piece(char)
        return made

    def process(self):
        return self.text[self.at : self.at + 2] in ("<(", ">(")

    def piece(self, char):
        start = self.at
        if char == "'":
            end = self.text.find("'", start + 1)
            self.at = end + 1 if end >= 0 else len(self.text)
            return self.text[start + 1 : self.at - 1]
        if char == '"':
            return self.double()
        if char == "\\":
            self.at += 2
            return self.text[start + 1 : start + 2].replace("\n", "")
        if self.text.startswith("$'", start):
            found = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, start)
            if not found:
                raise Suspicious("no end of $'")
            self.at = found.end()
            return found[1].encode("latin-1", "backslashreplace").decode("unicode_escape")
        if self.process():
            self.at += 2
            self.nested()
            return "\x00"
        return self.plain(char)

    def plain(self, char):
        if char == "`":
            self.backticks()
            return "\x00"
        if char == "$":
            return self.dollar()
        self.at += 1
        return char

    def double(self):
        made = ""
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\":
                made += self.text[self.at + 1 : self.at + 2].replace("\n", "")
                self.at += 2
            else:
                made += self.plain(char)
        self.at += 1
        return made

    def dollar(self):
        rest = self.text[self.at :]
        if rest.startswith("$(("):
            end = self.text.find("))", self.at)
            if end < 0:
                raise Suspicious("arithmetic without end")
            self.inner(self.text[self.at + 3 : end])
            self.at = end + 2
            return "\x00"
        if rest.startswith("$("):
            self.at += 2
            self.nested()
            return "\x00"
        if rest.startswith("${"):
            self.at += 2
            level = 1
            start = self.at
            while self.at < len(self.text) and level:
                level += {"{": 1, "}": -1}.get(self.text[self.at], 0)
                self.at += 1
            self.inner(self.text[start : self.at - 1])
            return "\x00"
        found = re.compile(r"\$(\w+|[?!@*#$-])").match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        return "\x00" if found else "$"

    def nested(self):
        """Up to the closing parenthesis; every candidate is tried, the first that reads wins."""
        end = self.at
        while True:
            end = self.text.find(")", end)
            if end < 0:
                raise Suspicious("no closing parenthesis")
            part = self.text[self.at : end]
            if part.count("(") == part.count(")"):
                break
            end += 1
        _Reader(part, self.depth + 1, self.functions).script()
        self.at = end + 1

    def backticks(self):
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise Suspicious("no closing backtick")
        _Reader(self.text[self.at + 1 : end], self.depth + 1, self.functions).script()
        self.at = end + 1

    def inner(self, text):
        """Text that is expanded: only what it substitutes counts."""
        reader = _Reader(text, self.depth + 1, self.functions)
        while reader.at < len(text):
            if text[reader.at] in "$`":
                reader.plain(text[reader.at])
            else:
                reader.at += 1

    def simple(self, words):
        while words and re.match(r"\w+\+?=", words[0]):
            name = re.match(r"\w+", words[0])[0]
            if RISKY.fullmatch(name):
                raise Suspicious(f"sets {name}")
            words = words[1:]
        if not words or words[0] in RESERVED or words[0] in ("for", "case", "select"):
            return
        self.program(words)

    def program(self, words):
        # The first of several alternatives is the program, the others its arguments.
        name = re.sub(r"\{([^,{}]*),[^{}]*\}", r"\1", words[0])
        if name in self.functions or words[1:] in (["--version"], ["--help"], ["-V"]):
            return
        base = name.rpartition("/")[2]
        if "/" in name and not re.fullmatch(r"(/usr(/local)?)?/bin/[\w.\[-]+", name):
            raise Suspicious(f"runs {name!r}")
        if base in TOLD and re.fullmatch(TOLD[base], " ".join(words[1:])):
            return
        if base not in LOOKERS:
            raise Suspicious(f"{name!r} is not known to only look")
        told = self.own_words(base, words[1:])
        harmful = HARMFUL.get(base)
        for word in told if harmful else ():
            if harmful.fullmatch(word):
                raise Suspicious(f"{base} is told {word!r}")

    def own_words(self, base, told):
        """What a program is told itself; what it runs in turn is looked at here."""
        if base in CARRIERS and not {"-v", "-V"} & set(told[:1]):
            return self.carried(told)
        if base == "find":
            return without_values(self.run_by_find(told), FIND_VALUES)
        if base == "git":
            self.git(told)
        elif base == "tar" and told and re.fullmatch(r"-?\w*[xcruA]\w*", told[0]):
            raise Suspicious(f"tar is told {told[0]!r}")
        elif base in ("unzip", "gunzip") and not any(map(LISTING.match, told)):
            raise Suspicious(f"{base} unpacks")
        return told_itself(base, told)

    def carried(self, words):
        for at, word in enumerate(words):
            if not re.match(r"-|\d|\w+=|\{\}$", word):
                self.program(words[at:])
                return words[:at]
        return words

    def run_by_find(self, words):
        for at, word in enumerate(words):
            if re.fullmatch("-(exec|execdir|ok|okdir)", word):
                ends = [n for n, one in enumerate(words) if one in (";", "+") and n > at]
                end = ends[0] if ends else len(words)
                if words[at + 1 : end]:
                    self.program(words[at + 1 : end])
                return [*words[:at], *self.run_by_find(words[end + 1 :])]
        return words

    def git(self, words):
        for word in words:
            if re.match(GIT_BEFORE, word):
                raise Suspicious(f"git is told {word!r}")
            if not word.startswith("-"):
                if word not in GIT_LOOKS:
                    raise Suspicious(f"git {word} is not known to only look")
                return
