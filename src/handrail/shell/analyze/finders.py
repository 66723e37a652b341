"""The commands that find and fd run on each file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.shell.analyze.invocation import UnwrapResult, WrappedRun
from handrail.shell.parse.syntax import Word
from handrail.shell.parse.words import drop_prefix, mark_placeholder, static_prefix

_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD_RUNS: Final = frozenset({"--exec", "--exec-batch"})
_FD: Final = frozenset({"fd", "fdfind"})
_FD_VALUES: Final = "cCdeEjoSt"


def unwrap_finder(name: str, words: Sequence[Word]) -> UnwrapResult | None:
    """What find or fd runs; None for another program."""
    if name in ("find", "gfind", "bfs"):
        return _find(words)
    if name in _FD:
        return _fd(words)
    return None


def _find(words: Sequence[Word]) -> UnwrapResult:
    runs: list[WrappedRun] = []
    doubts: list[str] = []
    index = 1
    while index < len(words):
        word = words[index]
        index += 1
        if word.value is None and not _a_place(word):
            doubts.append("find has an argument that is not known")
        if word.value not in _FIND_RUNS:
            continue
        end = next((i for i in range(index, len(words)) if _ends(words, i)), len(words))
        if end > index:
            runs.append(_run(words[index:end], moves=word.value in ("-execdir", "-okdir")))
        index = end + 1
    return UnwrapResult(tuple(runs), tuple(doubts), open=True)


def _a_place(word: Word) -> bool:
    """Whether a word with this beginning can only be a path, never an option or a test."""
    return static_prefix(word)[:1] not in ("", "-", "(", "!", ",")


def _ends(words: Sequence[Word], index: int) -> bool:
    value = words[index].value
    return value == ";" or (value == "+" and words[index - 1].value == "{}")


def _run(words: Sequence[Word], *, moves: bool) -> WrappedRun:
    return WrappedRun(
        "words",
        tuple(mark_placeholder(word, "{}") for word in words),
        extra_arguments=True,
        moves=moves,
    )


def _fd(words: Sequence[Word]) -> UnwrapResult:
    for index, word in enumerate(words[1:], 1):
        start = static_prefix(word)
        if start == "--":
            break
        attached = _after_long(word, start) if start.startswith("--") else _after_short(word, start)
        if attached is not None:
            inner = [attached] if attached.parts else []
            return _fd_runs([*inner, *words[index + 1 :]])
    return UnwrapResult((), open=True)


def _after_long(word: Word, start: str) -> Word | None:
    name, equals, _ = start.partition("=")
    # `--ex` could still become `--exclude` or `--extension`.
    if not (name.startswith("--exe") and any(option.startswith(name) for option in _FD_RUNS)):
        return None
    return drop_prefix(word, len(name) + len(equals))


def _after_short(word: Word, start: str) -> Word | None:
    if not start.startswith("-"):
        return None
    for index, letter in enumerate(start[1:], 1):
        if letter in "xX":
            return drop_prefix(word, index + 1)
        if letter in _FD_VALUES:
            return None
    return None


def _fd_runs(inner: list[Word]) -> UnwrapResult:
    end = next((i for i, word in enumerate(inner) if word.value == ";"), len(inner))
    runs = [_run(inner[:end], moves=False)] if inner[:end] else []
    doubts = () if end >= len(inner) - 1 else ("fd has words after its command",)
    return UnwrapResult(tuple(runs), doubts, open=True)
