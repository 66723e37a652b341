"""A configured and checked hook as a value, and the calls that it matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.core.verdicts import Effect

ANY: Final = ("", "*")
_NAMES: Final = re.compile(r"[\w-]+(?:\s*[|,]\s*[\w-]+)*")
# Characters that have a meaning in a regular expression, but not in a glob of names.
_REGEX: Final = re.compile(r"[.^$+()\[\]{}\\]")
_MAX_PATTERN_CHARS: Final = 2000


class ToolMatcher(NamedTuple):
    """The `matcher` of a hook. `names` are the names that it lists, if it is a list."""

    text: str
    names: tuple[str, ...] = ()
    predicate: Callable[[str], bool] | None = None

    def matches(self, known_as: Collection[str]) -> bool:
        """Whether the matcher matches one of a tool's names."""
        if self.names:
            return any(name in known_as for name in self.names)
        return self.predicate is None or any(map(self.predicate, known_as))


def tool_matcher(text: str) -> ToolMatcher:
    """A name, `a|b`, a glob, a regular expression, or `*`; raises `invalid_arguments`."""
    text = text.strip()
    if text in ANY:
        return ToolMatcher("*")
    if len(text) > _MAX_PATTERN_CHARS:
        raise ProblemRaised("invalid_arguments", f"it is longer than {_MAX_PATTERN_CHARS} letters")
    if _NAMES.fullmatch(text):
        return ToolMatcher(text, tuple(re.split(r"\s*[|,]\s*", text)))
    if _REGEX.search(text):
        return ToolMatcher(text, predicate=_compile_predicate(text))
    parts = [_translate_name_glob(part.strip()) for part in text.split("|")]
    return ToolMatcher(text, predicate=_compile_predicate("|".join(parts)))


class FilePatterns(NamedTuple):
    """Globs over paths, relative to every root."""

    written: tuple[str, ...]
    roots: tuple[str, ...]
    predicate: Callable[[str], bool]

    def matches(self, absolute: str) -> bool:
        """Whether the globs match the file at an absolute path."""
        return any(map(self.predicate, self._spellings(absolute)))

    def _spellings(self, absolute: str) -> Iterator[str]:
        yield absolute
        for root in self.roots:
            top = f"{root.rstrip('/')}/"
            if absolute.startswith(top):
                yield absolute[len(top) :]


def file_patterns(globs: Sequence[str], roots: Sequence[str]) -> FilePatterns:
    """Compile file patterns, which are as in a .gitignore, but without regard to case: `*.py` at any depth,
    `src/**` from a root, `/etc/x` absolute or from a root, `secrets` with its content. Raises
    `invalid_arguments`.
    """
    for glob in globs:
        if not glob.strip() or len(glob) > _MAX_PATTERN_CHARS:
            raise ProblemRaised("invalid_arguments", f"{glob!r:.80} is not a file pattern")
    whole = "|".join(_translate_path_glob(glob.strip()) for glob in globs)
    return FilePatterns(tuple(globs), tuple(roots), _compile_predicate(f"(?is)(?:{whole})"))


def _compile_predicate(pattern: str) -> Callable[[str], bool]:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Any = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = safe_text(str(error), one_line=True)
        raise ProblemRaised("invalid_arguments", f"the pattern cannot be read: {why}") from error

    def fits(text: str) -> bool:
        try:
            return compiled.fullmatch(text) is not None
        except UnicodeEncodeError:
            # A name that is not valid text cannot be matched, so every pattern matches it.
            return True

    return fits


def _translate_name_glob(glob: str) -> str:
    letters = {"*": ".*", "?": "."}
    return "".join(letters.get(letter, re.escape(letter)) for letter in glob)


_PARTS: Final = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^]/]+\]|\{[^{}]*\}|.", re.DOTALL)
_SPECIAL: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translate_path_glob(glob: str) -> str:
    anywhere = "/" not in glob.rstrip("/")
    body = "".join(_translate_part(part) for part in _PARTS.findall(glob.strip("/")))
    front = "(?:.*/)?" if anywhere else "/?"
    return f"{front}{body}{'/.*' if glob.endswith('/') else '(?:/.*)?'}"


def _translate_part(part: str) -> str:
    if part in _SPECIAL:
        return _SPECIAL[part]
    if part[0] == "[" and len(part) > 1:
        inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
        return f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
    if part[0] == "{" and len(part) > 1:
        choices = (
            "".join(_translate_part(one) for one in _PARTS.findall(choice))
            for choice in part[1:-1].split(",")
        )
        return f"(?:{'|'.join(choices)})"
    return re.escape(part)


class HookEvent(StrEnum):
    """When a hook runs. Only the events in `BLOCKING_EVENTS` can stop something."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    POST_TOOL_USE_FAILURE = "post_tool_use_failure"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    ON_ERROR = "on_error"
    PRE_LLM_CALL = "pre_llm_call"
    POST_LLM_CALL = "post_llm_call"
    BUDGET_WARNING = "budget_warning"
    CONTEXT_COMPRESS = "context_compress"
    AGENT_COMPLETE = "agent_complete"

    @property
    def pascal(self) -> str:
        """The name as Claude Code writes it."""
        return "".join(word.capitalize() for word in self.value.split("_"))


# Hooks of these events run before an action and can stop it.
BLOCKING_EVENTS: Final = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.PRE_LLM_CALL})
# Hooks of these events are about a call of a tool.
CALL_EVENTS: Final = frozenset(
    {
        HookEvent.PRE_TOOL_USE,
        HookEvent.POST_TOOL_USE,
        HookEvent.POST_TOOL_USE_FAILURE,
        HookEvent.ON_ERROR,
    }
)


class HookStyle(StrEnum):
    """The format of a hook's input and output."""

    OWN = "own"
    CLAUDE = "claude"
    # Handrail's fields with Architect's names of tools and arguments, and its rule for failures.
    ARCHITECT = "architect"


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One configured hook."""

    name: str
    event: HookEvent
    # A bash script whose `$1` is the file.
    command: str
    # The location in the settings, as text.
    where: str
    matcher: ToolMatcher
    # The hook runs only for these files; None: for every call.
    files: FilePatterns | None = None
    timeout_s: float = 10.0
    background: bool = False
    # The effect on a call whose guard failed.
    on_failure: Effect = Effect.ALLOW
    # The effect on a call whose guard could not be run.
    on_unavailable: Effect = Effect.DENY
    # The effect on a call whose guard failed in the sandbox, which may have been the cause.
    on_sandbox_failure: Effect = Effect.DENY
    # Whether an approval by the hook counts instead of the user's.
    may_allow: bool = False
    # Whether the program runs outside the sandbox.
    unconfined: bool = False
    style: HookStyle = HookStyle.OWN
    # Whether the hook comes from the user's own settings.
    user_owned: bool = True
    # Whether the hook runs only for calls about files.
    needs_file: bool = False

    @property
    def is_guard(self) -> bool:
        """Whether a failure of this hook stops the action, or makes it need approval."""
        return self.event in BLOCKING_EVENTS and self.on_failure is not Effect.ALLOW
