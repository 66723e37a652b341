"""The arguments of a program, as far as they are certain before it runs.

An argument that is known only at run time has no text; the other fields say what is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from handrail.shell.expand import Expander
from handrail.shell.parse.printed_numbers import prints_commit
from handrail.shell.parse.syntax import Opaque, Part, Substitution, Text, Variable, Word
from handrail.shell.parse.words import is_one_word
from handrail.shell.word_pieces import SEQUENCE, Field, WordPiece

# Variables that hold no secret, though some hold a path.
_HARMLESS: Final = re.compile(
    r"USER|LOGNAME|HOSTNAME|SHELL|LANG|TERM|TZ|HOSTTYPE|OSTYPE|MACHTYPE|BASH|BASH_VERSION|BASH_VERSINFO|EDITOR"
    r"|PATH|OLDPWD|TMPDIR|CI|HOME|PWD|[-_0]|JAVA_HOME|ANDROID_HOME|GOPATH|GOROOT|CARGO_HOME|RUSTUP_HOME"
    r"|VIRTUAL_ENV|CONDA_PREFIX|NODE_ENV|XDG_[A-Z_]+|COLORTERM|DISPLAY|LC_[A-Z]+|PYTHONPATH|NVM_DIR"
)
# NUL stands for a gap; no word can contain one.
_ELSEWHERE: Final = re.compile(r"\A[/~]|\.\.|\0\0|(?:\A|/)\.\0|\0\.(?:/|\Z)")
_ARITHMETIC: Final = re.compile(r"\$\(\(([\w\s+*/%<>=!&|^~?:,()#-]*)\)\)")
_NAME: Final = re.compile(r"(?<![\w#])[A-Za-z_]\w*")
_RANGE: Final = re.compile(r"(?:\.{2,3}[\w@]+|[~^][\d~^]*)?")
_GLOB: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a program."""

    # None: known only at run time.
    text: str | None
    source: str
    # Active glob characters are in the text.
    glob: bool = False
    # The text starts with an active `~`.
    tilde: bool = False
    # Without a text: the certain beginning.
    prefix: str = ""
    # Without a text: it begins with no dash, if it is not empty.
    plain: bool = False
    # Without a text: it is certainly one argument.
    single: bool = True
    # Without a text: the variables whose values are not known.
    unknown_variables: tuple[str, ...] = ()
    # Without a text: the substitutions whose output it contains.
    substitutions: tuple[Substitution, ...] = ()
    # The shell may make several arguments of it.
    may_split: bool = False
    # The only gaps are placeholders that a wrapper fills in, `{}`.
    is_placeholder: bool = False
    # The text around the gaps leads out of the directory, `/etc/{}`.
    leaves_directory: bool = False
    # It becomes paths that a search inside the workspace has found.
    found_by_search: bool = False

    def tail(self, start: int) -> Argument:
        """The rest of the argument, as the value attached to an option."""
        if self.text is not None:
            return Argument(self.text[start:], self.source, glob=self.glob)
        return Argument(
            None,
            self.source,
            prefix=self.prefix[start:],
            single=self.single,
            unknown_variables=self.unknown_variables,
            substitutions=self.substitutions,
            found_by_search=self.found_by_search,
        )


def argument_readings(
    words: Sequence[Word],
    expander: Expander,
    cwd: str | None,
    bound: frozenset[str] = frozenset(),
) -> Iterator[tuple[Argument, ...]]:
    """The arguments that the words become, for each combination of variable values.

    `bound` are variables that are certainly set.
    """
    for fields in expander.certain(words, cwd, bound):
        yield tuple(_argument(field) for field in fields)


def _argument(field: Field) -> Argument:
    pieces = field.pieces
    many = any(map(_many, pieces))
    gaps = [piece.part for piece in pieces if piece.text is None]
    if not gaps:
        return Argument(
            "".join(piece.text or "" for piece in pieces),
            field.source,
            glob=any(map(_globs, pieces)),
            tilde=bool(pieces) and pieces[0].tilde,
            may_split=many,
        )
    first = next(number for number, piece in enumerate(pieces) if piece.text is None)
    return Argument(
        None,
        field.source,
        prefix="".join(piece.text or "" for piece in pieces[:first]),
        single=all(map(is_one_word, gaps)),
        unknown_variables=tuple(chain.from_iterable(map(_asks, gaps))),
        substitutions=tuple(piece.part for piece in pieces if isinstance(piece.part, Substitution)),
        may_split=many,
        plain=_begins_plainly(pieces),
        is_placeholder=all(isinstance(part, Opaque) and part.is_placeholder for part in gaps),
        leaves_directory=_leads(pieces),
    )


def _begins_plainly(pieces: Sequence[WordPiece]) -> bool:
    """Whether it is the name of a commit, with a range or its parents: no option, even if empty."""
    first = pieces[0].part
    rest = "".join("\0" if piece.text is None else piece.text for piece in pieces[1:])
    named = isinstance(first, Substitution) and prints_commit(first.script)
    return named and _RANGE.fullmatch(rest) is not None


def _globs(piece: WordPiece) -> bool:
    return piece.globs and piece.text is not None and _GLOB.search(piece.text) is not None


def _leads(pieces: Sequence[WordPiece]) -> bool:
    """Whether the text around the gaps leaves the directory; a gap may be `./a` or `.`."""
    whole = "".join("\0" if piece.text is None else piece.text for piece in pieces)
    return _ELSEWHERE.search(whole) is not None


def _many(piece: WordPiece) -> bool:
    """Whether the shell may make several words of a piece; a number is one word."""
    if piece.text is None:
        return not is_one_word(piece.part)
    if isinstance(piece.part, Opaque):
        return SEQUENCE.fullmatch(piece.part.source) is not None
    return isinstance(piece.part, Text) and _globs(piece) and not piece.one


def _asks(part: Part) -> Iterator[str]:
    if isinstance(part, Variable):
        # `${!PATH}` is the value of another variable.
        lists_keys = bool(part.index) and part.index[0].value in ("@", "*")
        if part.operator == "!" and not lists_keys:
            yield f"!{part.name}"
        elif not _HARMLESS.fullmatch(part.name):
            yield part.name
        for word in part.inner:
            yield from chain.from_iterable(_asks(one) for one in word.parts)
    elif isinstance(part, Opaque):
        names = _ARITHMETIC.fullmatch(part.source)
        # A number shows no more than the variables that it is made of.
        yield from _NAME.findall(names[1]) if names else _arithmetic_names(part)


def _arithmetic_names(part: Opaque) -> Iterator[str]:
    """What a number shows besides the output of programs: the values of variables."""
    if not part.source.startswith("$(("):
        yield part.source
        return
    for inner in (inner for word in part.inner for inner in word.parts):
        if isinstance(inner, Text):
            yield from _NAME.findall(inner.text)
        else:
            yield from _asks(inner)
