"""Classifies an argument by its role in a program's grammar. An unknown role is dangerous."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from handrail.core.commands import CommandClass
from handrail.core.names.sensitive import is_sensitive
from handrail.shell.classify import effects, messages, path_location, sed
from handrail.shell.classify import role_patterns as patterns
from handrail.shell.classify.argument_context import ArgumentContext
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.path_location import PathLocation
from handrail.shell.languages import awk, jq

_SECRET: Final = re.compile(r"(?i)key|token|secret|passw|cred|auth|session|cookie")
_PATHLIKE: Final = re.compile(r"(?:/|\.\.(?:/|$)|.*/\.\.(?:/|$))")
_MOST_SECONDS: Final = 120.0
# Programs whose operands are gone afterwards.
_REMOVERS: Final = frozenset({"rm", "unlink"})
# The roles of operands that name what a program looks at.
PATHS: Final = frozenset({"read", "tree", "list", "rev", "start", "swept", "emptied"})


def classify_argument(role: str, argument: Argument, context: ArgumentContext) -> None:
    """Add the reasons and effects of an argument to the collector."""
    handler = _ROLES.get(role)
    if handler is not None:
        handler(argument, context)
    elif role in patterns.ALLOWED_TEXT or role in patterns.DENIED_TEXT:
        _matching(role, argument, context)
    else:
        context.danger(messages.UNKNOWN_ROLE.format(argument=argument.source))


def classify_text(argument: Argument, context: ArgumentContext) -> None:
    """Classify text that is only printed or compared."""
    if argument.text is not None or argument.found_by_search:
        return
    for name in argument.unknown_variables:
        if name in context.harmless_texts or name in patterns.SHELL_ARGUMENTS:
            continue
        bad = _SECRET.search(name) is not None
        safety_class = CommandClass.DANGEROUS if bad else CommandClass.DEV
        context.note(safety_class, messages.UNKNOWN_VARIABLE.format(name=name))


def classify_read(argument: Argument, context: ArgumentContext, *, tree: bool = False) -> None:
    """Classify a file that is read."""
    if argument.found_by_search:
        context.collector.reads_found_files = True
        if context.seeks_secrets:
            context.danger(messages.SEARCHES_SECRETS)
    if argument.text == "-" or argument.found_by_search:
        return
    if argument.text in path_location.PUBLIC_FILES:
        context.collector.add_reads((argument.text or "",))
        return
    place = path_location.locate_path(argument, context.cwd, context.where)
    if place.is_stream:
        _streams(argument, context)
        return
    if place.objection and not path_location.is_public(place):
        context.danger(messages.READS_PATH.format(argument=argument.source, reason=place.objection))
    elif is_sensitive(place.paths[-1], glob=argument.glob) or is_sensitive(
        place.paths[0], glob=argument.glob
    ):
        context.danger(messages.SENSITIVE_FILE.format(argument=argument.source))
    context.collector.add_reads(_trees(place.paths) if tree else place.paths)


def _path_list(argument: Argument, context: ArgumentContext) -> None:
    """Directories and archives with colons between them."""
    for path in [None] if argument.text is None else argument.text.split(":"):
        classify_read(replace(argument, text=path), context, tree=True)


def _names(argument: Argument, context: ArgumentContext) -> None:
    """A pattern for the names of files that a search reads; one with `!` leaves files out."""
    classify_text(argument, context)
    text = argument.text or ""
    if not text.startswith("!") and is_sensitive(text, glob=True):
        context.danger(messages.SEARCHES_SECRETS)


def classify_listed(argument: Argument, context: ArgumentContext) -> None:
    """Classify a file of which only the name and metadata are shown."""
    if argument.text == "-" or argument.found_by_search:
        return
    place = path_location.locate_path(argument, context.cwd, context.where)
    if place.is_stream:
        return
    if place.objection and not path_location.is_public(place, listed=True):
        context.danger(messages.LISTS_PATH.format(argument=argument.source, reason=place.objection))
    context.collector.add_reads(place.paths)


def classify_write(
    argument: Argument,
    context: ArgumentContext,
    *,
    tree: bool = False,
    follow: bool = True,
    whole: bool = False,
) -> None:
    """Classify a file that is created, changed or removed. `whole`: a root itself is allowed."""
    if argument.found_by_search:
        least = CommandClass.DANGEROUS if context.found_everything else CommandClass.DEV
        context.note(least, f"{context.program or 'it'} changes files that a search finds")
        context.collector.open_ended = True
        return
    place = path_location.locate_path(argument, context.cwd, context.where, follow=follow)
    if place.is_stream:
        return
    # A path that is not known is found by looking at all of the workspace.
    context.collector.open_ended |= not place.paths
    if place.objection:
        context.danger(
            messages.WRITES_PATH.format(argument=argument.source, reason=place.objection)
        )
    else:
        # `*` names every file of a root; `.` as a target names none of them.
        _inside(argument, place, context, whole=whole or not (tree or argument.glob))
    paths = _trees(place.paths) if tree else place.paths
    context.collector.add_writes(paths)
    if context.program in _REMOVERS:
        context.collector.add_removes(paths)


def _inside(
    argument: Argument, place: PathLocation, context: ArgumentContext, *, whole: bool
) -> None:
    reason = next(filter(None, (_protected(path, context) for path in place.paths)), None)
    if reason is not None:
        context.danger(messages.WRITES_PATH.format(argument=argument.source, reason=reason))
    elif place.is_root and not whole:
        context.danger(messages.WHOLE_WORKSPACE.format(argument=argument.source))
    else:
        context.note(CommandClass.DEV, messages.WRITES_FILE.format(argument=argument.source))


def _protected(path: str, context: ArgumentContext) -> str | None:
    for root in context.where.roots:
        if path.startswith(f"{root.rstrip('/')}/"):
            relative = path[len(root.rstrip("/")) + 1 :]
            if ".git" in relative.casefold().split("/"):
                return messages.GIT_DIRECTORY
            return context.protected(relative) if context.protected is not None else None
    return None


def _streams(argument: Argument, context: ArgumentContext) -> None:
    if argument.text and not path_location.readable_stream(argument.text):
        context.danger(messages.ENDLESS_STREAM.format(path=argument.text))


def _trees(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{path.rstrip('/')}/" for path in paths)


def _revision(argument: Argument, context: ArgumentContext) -> None:
    """A revision, a range, `revision:path` or a path: git tells them apart by looking."""
    value = argument.text
    if value is None:
        if argument.unknown_variables or not argument.single:
            classify_text(argument, context)
        return
    _, colon, inner = value.partition(":")
    if is_sensitive(inner if colon else value, glob=argument.glob):
        context.danger(messages.SENSITIVE_FILE.format(argument=argument.source))
    elif argument.tilde or _PATHLIKE.match(value):
        classify_read(argument, context)


def _any(argument: Argument, context: ArgumentContext) -> None:
    """Classify an argument of a program that may touch the workspace and nothing else."""
    value = argument.text
    if value is None:
        return
    if argument.tilde:
        classify_listed(argument, context)
        return
    option = re.match(r"-{1,2}[\w.-]+=", value)
    path = argument.tail(option.end()) if option is not None else argument
    if path.text and _PATHLIKE.match(path.text):
        place = path_location.locate_path(path, context.cwd, context.where)
        if place.objection:
            context.danger(
                messages.LEAVES_WORKSPACE.format(argument=argument.source, reason=place.objection)
            )
    effects.collect_hosts((argument,), context.collector, strict=True)


def _directory(argument: Argument, context: ArgumentContext) -> None:
    if argument.text == "-":
        return
    place = path_location.locate_path(argument, context.cwd, context.where)
    if place.objection:
        context.danger(
            messages.ENTERS_DIRECTORY.format(argument=argument.source, reason=place.objection)
        )


def _script(argument: Argument, context: ArgumentContext) -> None:
    """A file that is run as a program."""
    if argument.text in (None, "-"):
        context.danger(messages.UNKNOWN_SCRIPT.format(argument=argument.source))
        return
    place = path_location.locate_path(argument, context.cwd, context.where)
    if place.objection or place.is_stream:
        reason = place.objection or messages.UNKNOWN_CODE
        context.danger(messages.RUNS_FILE.format(argument=argument.source, reason=reason))
    else:
        context.note(
            CommandClass.DEV, messages.RUNS_WORKSPACE_FILE.format(argument=argument.source)
        )
    context.collector.open_ended = True
    context.collector.add_reads(place.paths)


def _code(argument: Argument, context: ArgumentContext) -> None:
    context.danger(messages.RUNS_CODE.format(argument=argument.source))
    context.collector.open_ended = True


def _sed(argument: Argument, context: ArgumentContext) -> None:
    if argument.text is None or argument.glob or not sed.only_prints(argument.text):
        context.danger(messages.SED_NOT_READ_ONLY)
        context.collector.open_ended = True


def _awk(argument: Argument, context: ArgumentContext) -> None:
    """An awk program; the commands that it runs are invocations of their own."""
    program = None if argument.glob else awk.parse_awk(argument.text or "(")
    if program is None or program.doubts or None in program.commands:
        context.danger(messages.AWK_NOT_READ_ONLY)
        context.collector.open_ended = True
        return
    sorts = all(map(patterns.SORTING.match, filter(None, program.commands)))
    if program.commands and not (context.follows_text and sorts):
        context.note(CommandClass.DEV, messages.AWK_RUNS_COMMANDS)
    for path in program.reads:
        classify_read(Argument(path, argument.source), context)
    for path in program.writes:
        classify_write(Argument(path, argument.source), context)


def _jq(argument: Argument, context: ArgumentContext) -> None:
    if argument.text is None:
        _matching("jq", argument, context)
        return
    named = argument.glob and not patterns.DOTTED_TEXT.fullmatch(argument.text)
    if named or not jq.only_computes(argument.text):
        context.danger(
            messages.UNSAFE_ARGUMENT.format(argument=argument.source, program=context.program)
        )


def _output(argument: Argument, context: ArgumentContext) -> None:
    """Classify an output file; `-` is standard output."""
    if argument.text != "-":
        classify_write(argument, context)


def _archive(
    argument: Argument,
    context: ArgumentContext,
    use: Callable[[Argument, ArgumentContext], None] = classify_read,
) -> None:
    """Tar takes `host:file` for a file on another machine."""
    if ":" in (argument.text or ":"):
        context.danger(messages.REMOTE_FILE.format(argument=argument.source))
    use(argument, context)


def _unpacked(argument: Argument, context: ArgumentContext) -> None:
    """Classify an archive that is unpacked into the current directory."""
    classify_read(argument, context)
    classify_write(Argument(".", "."), context, tree=True, whole=True)


def classify_target(
    argument: Argument, sources: Sequence[Argument], context: ArgumentContext
) -> None:
    """Classify where files are copied or moved to: a new name, or a directory."""
    text = argument.text or ""
    last = text.rpartition("/")[2]
    if not text or argument.tilde or last not in ("", ".", ".."):
        classify_write(argument, context, whole=True)
    if text:
        for source in sources:
            name = posixpath.basename((source.text or "*").rstrip("/"))
            target = replace(argument, text=f"{text.rstrip('/')}/{name}")
            classify_write(target, context, whole=True)


def _seconds(argument: Argument, context: ArgumentContext) -> None:
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?|\.\d+)([smhd]?)", argument.text or "")
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
    if match is None or float(match[1]) * unit[match[2]] > _MOST_SECONDS:
        context.danger(messages.LONG_WAIT.format(argument=argument.source))


def _matching(role: str, argument: Argument, context: ArgumentContext) -> None:
    value = argument.text
    if value is None:
        classify_text(argument, context)
        # With a beginning of its own it is no operator.
        operand = role == "check" and argument.single and argument.prefix[:1] not in ("", "-")
        if not operand:
            why = messages.UNKNOWN_ARGUMENT.format(argument=argument.source)
            context.note(CommandClass.DEV, why)
    elif (
        role in patterns.ALLOWED_TEXT
        and not re.fullmatch(patterns.ALLOWED_TEXT[role], value, re.DOTALL)
    ) or (role in patterns.DENIED_TEXT and re.search(patterns.DENIED_TEXT[role], value)):
        context.danger(
            messages.UNSAFE_ARGUMENT.format(argument=argument.source, program=context.program)
        )


def _named_file(role: str, argument: Argument, context: ArgumentContext) -> None:
    """A file that is read, if its name says that it refers to no other."""
    if argument.text is None:
        context.note(CommandClass.DEV, messages.UNKNOWN_ARGUMENT.format(argument=argument.source))
    elif not re.fullmatch(patterns.NAMED_FILES[role], argument.text):
        context.danger(
            messages.UNSAFE_ARGUMENT.format(argument=argument.source, program=context.program)
        )
    classify_read(argument, context)


def _reference(argument: Argument, context: ArgumentContext) -> None:
    context.note(CommandClass.DEV, messages.CHANGES_REFERENCE.format(argument=argument.source))
    context.collector.git = True


def _change(argument: Argument, context: ArgumentContext) -> None:
    context.danger(messages.CHANGES_CONFIGURATION.format(argument=argument.source))
    context.collector.git = True


def _target(argument: Argument, context: ArgumentContext) -> None:
    """Classify the target of a link: outside the workspace it would lead out of it."""
    if argument.text is None or argument.tilde or argument.text.startswith("/"):
        classify_listed(argument, context)


_ROLES: Final[Mapping[str, Callable[[Argument, ArgumentContext], None]]] = {
    "text": classify_text,
    "read": classify_read,
    "names": _names,
    **dict.fromkeys(("tree", "start"), partial(classify_read, tree=True)),
    "trees": _path_list,
    "list": classify_listed,
    "write": classify_write,
    "output": _output,
    "wtree": partial(classify_write, tree=True),
    "swept": partial(classify_write, tree=True, whole=True),
    "emptied": lambda argument, context: classify_write(
        argument, context, tree=True, whole=context.narrowed
    ),
    "entry": partial(classify_write, follow=False),
    "etree": partial(classify_write, tree=True, follow=False),
    "unpacked": _unpacked,
    "ref": _reference,
    "change": _change,
    "target": _target,
    "rev": _revision,
    "any": _any,
    "dir": _directory,
    "script": _script,
    "code": _code,
    "sed": _sed,
    "awk": _awk,
    "jq": _jq,
    "archive": _archive,
    "new-archive": partial(_archive, use=_output),
    "seconds": _seconds,
    **{role: partial(_named_file, role) for role in patterns.NAMED_FILES},
}


def known_roles() -> frozenset[str]:
    """Every role that can be classified."""
    return frozenset((*_ROLES, *patterns.ALLOWED_TEXT, *patterns.DENIED_TEXT))
