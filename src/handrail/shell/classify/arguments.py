"""Words as a program will receive them, as far as that can be known.

What cannot be known is never guessed: such an argument has no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product
from typing import Final

from handrail.shell.expand import stays_one
from handrail.shell.parse.syntax import Braces, Opaque, Part, Substitution, Text, Variable, Word

_MOST_WORDS: Final = 256
_MOST_STEPS: Final = 100_000
# Numbers that the shell keeps itself: never an option, never part of a way to elsewhere.
_NUMBERS: Final = re.compile(
    r"[?#$!]|PPID|UID|EUID|RANDOM|SRANDOM|SECONDS|LINENO|BASHPID|SHLVL|EPOCHSECONDS|OPTIND"
    r"|COLUMNS|LINES|HISTCMD|BASH_SUBSHELL"
)
# Text that is nobody's secret, though it may be a path.
_HARMLESS: Final = re.compile(
    r"USER|LOGNAME|HOSTNAME|SHELL|LANG|TERM|TZ|HOSTTYPE|OSTYPE|MACHTYPE|BASH|BASH_VERSION|EDITOR"
    r"|PATH|OLDPWD|TMPDIR|CI|HOME|PWD|[-_0]"
)
_ELSEWHERE: Final = re.compile(r"\A[/~]|\.\.|\0\0|(?:\A|/)\.\0|\0\.(?:/|\Z)")
_ARITHMETIC: Final = re.compile(r"\$\(\([\s\d+\-*/%()<>=!&|^~?:,]*\)\)")
_SEQUENCE: Final = re.compile(r"\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}")


@dataclass(frozen=True, slots=True)
class Argument:
    """One word for a program.

    `text` is None if it is computed; then `prefix` is how it surely starts, `single` whether
    it surely stays one word, `asks` the variables whose value nobody here knows, and `lists`
    the commands whose output it is. `many`: the shell may make several words of it. `placed`:
    all that is not known of it is what a wrapper puts in a place, `{}`. `leads`: what is known of
    it leads elsewhere, `/etc/{}`. `found`: it is computed and becomes paths that a search inside
    the workspace has found.
    """

    text: str | None
    source: str
    glob: bool = False
    tilde: bool = False
    prefix: str = ""
    single: bool = True
    asks: tuple[str, ...] = ()
    lists: tuple[Substitution, ...] = ()
    many: bool = False
    placed: bool = False
    leads: bool = False
    found: bool = False

    def tail(self, start: int) -> Argument:
        """The rest of the word, as the value attached to an option."""
        if self.text is not None:
            return Argument(self.text[start:], self.source, glob=self.glob)
        return Argument(
            None,
            self.source,
            prefix=self.prefix[start:],
            single=self.single,
            asks=self.asks,
            lists=self.lists,
            found=self.found,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """The variables whose values are known: where the command runs and whose home it has,
    and those that the command itself sets, with all the values that they may have.
    """

    cwd: str | None
    home: str
    values: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)

    def value(self, name: str) -> str | None:
        """The value of a variable of the environment, None if it is not known."""
        if name == "HOME":
            return self.home
        return self.cwd if name == "PWD" else None


def arguments(words: Sequence[Word], known: Known) -> tuple[Argument, ...]:
    """The arguments that these words become; `{a,b}` becomes two."""
    return tuple(chain.from_iterable(_expanded(word, known) for word in words))


def _expanded(word: Word, known: Known) -> Iterator[Argument]:
    ways = list(islice(_ways(word.parts, known), _MOST_WORDS + 1))
    if len(ways) > _MOST_WORDS:
        yield Argument(None, word.source, single=False, many=True)
        return
    for parts in ways:
        yield _argument(parts, word.source, known)


def _ways(parts: Sequence[Part], known: Known) -> Iterator[tuple[Part, ...]]:
    """All that the parts may become, with braces and known variables put in."""
    choices: list[list[tuple[Part, ...]]] = []
    for part in parts:
        inner: Iterator[tuple[Part, ...]] = iter(((part,),))
        if isinstance(part, Braces):
            inner = chain.from_iterable(_ways(one.parts, known) for one in part.alternatives)
        elif isinstance(part, Variable) and part.plain and part.name in known.values:
            inner = _values(part, known)
        choices.append(list(islice(inner, _MOST_WORDS + 1)))
    for chosen in product(*choices):
        yield tuple(chain.from_iterable(chosen))


def _values(variable: Variable, known: Known) -> Iterator[tuple[Part, ...]]:
    # A value that refers to its own variable is not followed round and round.
    others = {name: words for name, words in known.values.items() if name != variable.name}
    for word in known.values[variable.name]:
        for parts in _ways(word.parts, replace(known, values=others)):
            yield tuple(_requoted(part, variable, word) for part in parts)


def _requoted(part: Part, variable: Variable, word: Word) -> Part:
    """A part of a value as it stands where the variable stood."""
    if isinstance(part, Text):
        # Unquoted, a value with blanks becomes several words.
        if not variable.quoted and re.search(r"\s", part.text):
            return Opaque(word.source)
        return Text(part.text, quoted=not (word.globs or word.tilde))
    if isinstance(part, Variable | Substitution):
        return replace(part, quoted=variable.quoted)
    return part


def _argument(parts: Sequence[Part], source: str, known: Known) -> Argument:
    texts = [_text(part, known) for part in parts]
    first = parts[0] if parts else None
    many = any(_many(part, text) for part, text in zip(parts, texts, strict=True))
    if all(text is not None for text in texts):
        return Argument(
            "".join(text or "" for text in texts),
            source,
            glob=any(_globs(part, text) for part, text in zip(parts, texts, strict=True)),
            tilde=isinstance(first, Text) and not first.quoted and first.text.startswith("~"),
            many=many,
        )
    return Argument(
        None,
        source,
        prefix="".join(texts[: texts.index(None)]),  # type: ignore[arg-type] # none before it
        single=all(stays_one(one) for one, text in zip(parts, texts, strict=True) if text is None),
        asks=tuple(
            chain.from_iterable(_asks(p) for p, t in zip(parts, texts, strict=True) if t is None)
        ),
        lists=tuple(part for part in parts if isinstance(part, Substitution)),
        many=many,
        placed=all(_placed(part) for part, text in zip(parts, texts, strict=True) if text is None),
        leads=_leads(texts),
    )


def _text(part: Part, known: Known) -> str | None:
    """What a part becomes; a number that cannot be known is `*`: anything, but no way out."""
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Variable):
        if part.plain and _NUMBERS.fullmatch(part.name):
            return "*"
        return known.value(part.name) if part.plain else None
    if isinstance(part, Substitution):
        return None if part.kind == "output" else "/dev/fd/63"
    if isinstance(part, Opaque):
        return "*" if _is_small(part.source) else None
    return None


def _globs(part: Part, text: str | None) -> bool:
    if isinstance(part, Text):
        return not part.quoted and any(one in part.text for one in "*?[")
    return text == "*"


def _leads(texts: Sequence[str | None]) -> bool:
    """Whether the known texts around what is computed lead up or away; it may be `./a` or `.`."""
    # The zero letter stands for what is computed; no word can hold one.
    whole = "".join("\0" if text is None else text for text in texts)
    return _ELSEWHERE.search(whole) is not None


def _placed(part: Part) -> bool:
    return isinstance(part, Opaque) and part.placed


def _many(part: Part, text: str | None) -> bool:
    """Whether the shell may make several words of it; a number that it works out is one."""
    if text is None:
        return not stays_one(part)
    if isinstance(part, Opaque):
        return _SEQUENCE.fullmatch(part.source) is not None
    return isinstance(part, Text) and _globs(part, text)


def _is_small(source: str) -> bool:
    if _ARITHMETIC.fullmatch(source):
        return True
    sequence = _SEQUENCE.fullmatch(source)
    if sequence is None:
        return False
    first, last = sequence.group(1), sequence.group(2)
    if first.isalpha() or last.isalpha():
        return first.isalpha() and last.isalpha()
    return not first.startswith("-") and abs(int(first) - int(last)) <= _MOST_STEPS


def _asks(part: Part) -> Iterator[str]:
    if isinstance(part, Variable):
        if not (part.plain and _HARMLESS.fullmatch(part.name)):
            yield part.name
        for word in part.inner:
            yield from chain.from_iterable(_asks(one) for one in word.parts)
    elif isinstance(part, Opaque):
        yield part.source
