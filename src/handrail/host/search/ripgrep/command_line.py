"""Makes the command lines for ripgrep. Text from a model is always an operand.

A pattern follows `-e`, a path follows `--` and begins with `./`, and a glob is joined to its
option, so that none of them can be read as an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery
from handrail.host.search.filters import PathFilter
from handrail.host.search.limits import MAX_LINE
from handrail.host.search.results import understands_crlf

# A line of more bytes has more characters than are shown.
_MAX_COLUMNS: Final = 4 * MAX_LINE + 4

_ALWAYS: Final = (
    "--no-config",
    "--no-follow",
    "--no-ignore-messages",
    "--no-require-git",
    "--no-ignore-global",
    "--hidden",
    "--color=never",
    "--null",
)
_GREP: Final = (
    "--no-heading",
    "--with-filename",
    # Truncating a mapped file would kill the process that reads it.
    "--no-mmap",
    "--no-context-separator",
)
_MODES: Final = {
    GrepMode.FILES: ("--files-with-matches",),
    GrepMode.COUNT: ("--count",),
    GrepMode.CONTENT: (
        "--line-number",
        f"--max-columns={_MAX_COLUMNS}",
        "--max-columns-preview",
    ),
}


class WalkOptions(NamedTuple):
    """How ripgrep walks the tree."""

    one_thread: bool
    # Exclude `.git` by a glob, which slows a large search by a few per cent. Set only where a
    # `.git` was seen; elsewhere such results are removed from the output.
    skip_git: bool
    # Apply ignore files above the searched directory. Set only where there are any, because
    # matching each path against them costs time.
    heed_above: bool


def grep_command(query: GrepQuery, allowed: PathFilter, way: WalkOptions) -> list[str]:
    """Arguments of a content search."""
    arguments = [*_matching(query), *_walk(query.place, allowed, way)]
    if query.type is not None:
        arguments.append(f"--type={query.type}")
    else:
        arguments += _named(allowed)
    if not query.recursive:
        arguments.append("--max-depth=1")
    return [*arguments, "-e", query.pattern, "--", _operand(query.place)]


def reread_command(query: GrepQuery, operands: Sequence[str]) -> list[str]:
    """Return arguments that search exactly these files, in this order. A match is printed as a
    count, so that each record ends with text that no name can contain.
    """
    counts = query._replace(mode=GrepMode.COUNT) if query.mode is GrepMode.FILES else query
    first = ("--max-count=1",) if query.mode is GrepMode.FILES else ()
    arguments = [*_matching(counts), *first, "--threads=1", "--no-ignore"]
    return [*arguments, "-e", query.pattern, "--", *operands]


def _matching(query: GrepQuery) -> list[str]:
    """Return the arguments for what matches and what is printed."""
    arguments = [*_ALWAYS, *_GREP, *_MODES[query.mode]]
    if query.mode is GrepMode.CONTENT:
        arguments += [f"--before-context={max(query.before, 0)}"]
        arguments += [f"--after-context={max(query.after, 0)}"]
    if query.literal:
        arguments.append("--fixed-strings")
    if query.ignore_case:
        arguments.append("--ignore-case")
    if query.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    if understands_crlf(query):
        arguments.append("--crlf")
    return arguments


def files_command(query: FilesQuery, allowed: PathFilter, way: WalkOptions) -> list[str]:
    """Arguments that list files."""
    depth = () if query.recursive else ("--max-depth=1",)
    walk = _walk(query.place, allowed, way)
    return [*_ALWAYS, "--files", *walk, *_named(allowed), *depth, "--", _operand(query.place)]


def _walk(place: Place, allowed: PathFilter, way: WalkOptions) -> list[str]:
    arguments = ["--threads=1"] if way.one_thread else []
    if not way.heed_above:
        arguments.append("--no-ignore-parent")
    if way.skip_git:
        arguments.append("--glob=!.git")
    if place.kind is Kind.DIRECTORY:
        arguments += [f"--glob=!{glob}" for glob in allowed.excluded]
        arguments += [f"--iglob=!{glob}" for glob in allowed.withheld]
    return arguments


def _named(allowed: PathFilter) -> list[str]:
    if allowed.names is None:
        return []
    # A file type, because types only narrow what ignore files allow; `--glob` would override ignore
    # files.
    return [*(f"--type-add=handrail:{name}" for name in allowed.names), "--type=handrail"]


def _operand(place: Place) -> str:
    return f"./{place.rel}"
