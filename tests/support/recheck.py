"""A second opinion on commands that were called safe, sharing nothing with the first.

It reads a command letter by letter, and knows a short list of programs that only look and the
words with which they would do more. What it does not understand it holds against the command.
"""

import posixpath
import re

from tests.support.recheck_programs import program, variable
from tests.support.recheck_tables import words
from tests.support.recheck_words import Suspicious, Word

RESERVED = words("if then elif else fi while until do done esac ! { } in time")
TARGETS = words("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/63")
REDIRECT = re.compile(r"(\d*|\{\w+\})(<<<|<<-?|<>|>>|>\||>&|<&|>|<)(?!\()")
QUOTED = re.compile(r"""\\.|'[^']*'|"(?:[^"\\$`]|\\.)*\"""", re.DOTALL)
BLANK = re.compile(r"(?:[ \t]|\\\n)*")
ESCAPED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
PARAMETER = re.compile(r"\$(\w+|[?!@*#$-])")
# How the value surely begins: a number, or the way to a place.
VALUES = {**dict.fromkeys("?!#$", "0"), "PWD": "/\x00", "HOME": "/\x00"}
MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
QUOTES = re.compile(r"[\\'\"]")
COMPUTED = re.compile(r"\$[\w?!@*#$({-]")
ASSIGNMENT = re.compile(r"(\w+)\+?=")
# Unquoted braces and commas while a word is read: they make several words of one.
BRACES = str.maketrans("{,}", "\x01\x02\x03")
LITERAL = str.maketrans("\x01\x02\x03", "{,}")
ALTERNATIVES = re.compile("\x01([^\x01\x03]*\x02[^\x01\x03]*)\x03")


def recheck(command, places=None):
    """Raise `Suspicious` if the command could write, run or reach out. `places`: the values of PWD
    and HOME where it runs, if they are known.
    """
    # Whatever changes the directory changes PWD, in a loop even before.
    moves = MOVES.search(QUOTES.sub("", command))
    _Reader(command, 0, values={**VALUES, **({} if moves else places or {})}).script()


def spread(word):
    """The words that braces make of one."""
    found = ALTERNATIVES.search(word)
    if not found:
        return [Word(word.translate(LITERAL), many=word.many)]
    before, after = word[: found.start()], word[found.end() :]
    return [
        made
        for one in found[1].split("\x02")
        for made in spread(Word(before + one + after, many=word.many))
    ]


class _Reader:
    def __init__(self, text, depth, functions=(), values=VALUES):
        if depth > 20:
            raise Suspicious("nested too deep")
        self.text = text
        self.at = 0
        self.depth = depth
        self.functions = set(functions)
        self.heredocs = []
        self.given = values
        self.values = dict(values)

    def script(self):
        words, timed = [], False
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
            elif self.text.startswith("&>", self.at):
                self.at += 2 + self.text.startswith("&>>", self.at)
                self.target()
            elif char in "\n;&|()":
                self.operator(char, words)
                words = []
            elif self.redirect():
                continue
            else:
                words += spread(self.raw())
                timed = timed and words == ["-p"]
                if len(words) == 1 and (words[0] in RESERVED or timed):
                    timed = words == ["time"]
                    words = []
        self.simple(words)

    def operator(self, char, words):
        rest = self.text[self.at :]
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
        found = REDIRECT.match(self.text, self.at)
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
            self.target(copies=found[2] == ">&")
        return True

    def target(self, *, copies=False):
        self.blank()
        word = self.word().rstrip("/")
        # No file has an empty name; only behind `>&` is a number or `-` none.
        if (
            word
            and posixpath.normpath(word) not in TARGETS
            and not (copies and re.fullmatch(r"\d*-?", word))
        ):
            raise Suspicious(f"writes to {word!r}")

    def blank(self):
        self.at = BLANK.match(self.text, self.at).end()

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
        made = self.raw(test=test)
        return Word(made.translate(LITERAL), many=made.many)

    def raw(self, *, test=False):
        """A word in which braces that count are still marked."""
        made, many = "", False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\n" or (char in ";&|()<>" and not self.process() and not test):
                break
            if test and char in "()<>;&|" and not self.process():
                made += char
                self.at += 1
                continue
            quoted = char in "'\"\\" or self.text[self.at : self.at + 2] in ("$'", '$"')
            pattern = char in "*?" or (char == "[" and "]" in self.text[self.at :])
            computed = char == "`" or COMPUTED.match(self.text, self.at)
            many = many or pattern or (bool(computed) and not quoted)
            made += self.piece(char) if quoted else self.piece(char).translate(BRACES)
        return Word(made, many=many)

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
            found = ESCAPED.match(self.text, start)
            if not found:
                raise Suspicious("no end of $'")
            self.at = found.end()
            return found[1].encode("latin-1", "backslashreplace").decode("unicode_escape")
        if self.process():
            self.at += 2
            self.nested()
            return "/dev/fd/63"
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
            return self.values.get(self.text[start : self.at - 1], "\x00")
        found = PARAMETER.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        return self.values.get(found[1], "\x00") if found else "$"

    def below(self, text):
        return _Reader(text, self.depth + 1, self.functions, self.given)

    def nested(self):
        """Up to the closing parenthesis; every candidate is tried, the first that reads wins."""
        end = self.at
        while True:
            end = self.text.find(")", end)
            if end < 0:
                raise Suspicious("no closing parenthesis")
            part = self.text[self.at : end]
            bare = QUOTED.sub("", part)
            if bare.count("(") == bare.count(")") and bare.count('"') % 2 == 0:
                break
            end += 1
        self.below(part).script()
        self.at = end + 1

    def backticks(self):
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise Suspicious("no closing backtick")
        self.below(self.text[self.at + 1 : end]).script()
        self.at = end + 1

    def inner(self, text):
        """Text that is expanded: only what it substitutes counts."""
        reader = self.below(text)
        while reader.at < len(text):
            if text[reader.at] in "$`":
                reader.plain(text[reader.at])
            else:
                reader.at += 1

    def simple(self, words):
        assigned = []
        while words and ASSIGNMENT.match(words[0]):
            assigned.append(words.pop(0).partition("="))
        reads = words[:1] == ["read"] and "read" not in self.functions
        for name, _, value in assigned:
            # Before `read` it says how one line is split, and nothing else.
            if not (reads and name == "IFS"):
                variable(name.removesuffix("+"))
            # Known is what is set once, to letters, for all that follows.
            known = not words and name not in self.values and re.fullmatch(r"\w+", value)
            self.values[name] = str(value) if known else "\x00"
        for name in self.values.keys() & {one.partition("=")[0] for one in words[1:]}:
            self.values[name] = "\x00"
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            # Numbers and letters are no option, whichever of them it is.
            plain = all(re.fullmatch(r"\w+", one) and not one.many for one in words[3:])
            fresh = words[1] not in self.values and len(words) > 3
            self.values[words[1]] = str(words[3]) if plain and fresh else "\x00"
        if words and words[0] not in RESERVED and words[0] not in ("for", "case", "select"):
            program(words, self.functions)
