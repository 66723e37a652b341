"""The API reference as Markdown, from the code: each public name with its signature and docstring."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from typing import Any, get_origin

import handrail
import handrail.sync

INTRODUCTION = """# API reference

Every public name of `handrail`, generated from the code. [Python](../python.md) explains how they are used
together. [`handrail.sync`](sync.md) has the same methods without `await`.
"""
PATH_TYPES = {
    "ReadPath": "The type of an argument that names a file to read.",
    "WritePath": "The type of an argument that names a file to write.",
    "TreePath": "The type of an argument that names a directory with everything below it.",
}
# A longer signature has one parameter per line.
WIDTH = 96


def api_pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page."""
    names = sorted((one for one in handrail.__all__ if not one.startswith("_")), key=str.lower)
    public = {name: getattr(handrail, name) for name in names}
    table = [f"| [`{name}`](#{name}) | {_summary(name, one)} |" for name, one in public.items()]
    entries = [_entry(name, one) for name, one in public.items()]
    yield "index", "\n".join((INTRODUCTION, "| name | |", "|---|---|", *table, "", *entries))
    sync = [_entry(name, getattr(handrail.sync, name)) for name in ("open", "SyncRuntime")]
    about = inspect.getdoc(handrail.sync) or ""
    yield "sync", "\n".join(("# handrail.sync", "", about, "", *sync))


def _summary(name: str, one: Any) -> str:
    first = _text(name, one).partition("\n\n")[0].replace("\n", " ")
    return first.partition(". ")[0].rstrip(".").replace("|", "\\|")


def _text(name: str, one: Any) -> str:
    return PATH_TYPES.get(name) or _docstring(one)


def _entry(name: str, one: Any) -> str:
    """The section of a name; classes with their members."""
    parts = [f"## {name} {{ #{name} }}", "", _fence(_heading(name, one)), "", _text(name, one), ""]
    if inspect.isclass(one):
        parts += _members(name, one)
    return "\n".join(parts)


def _heading(name: str, one: Any) -> str:
    if get_origin(one) is not None or name in PATH_TYPES:
        return f"{name} = {one}".replace("typing.", "")
    if not inspect.isclass(one):
        return _signature(name, one)
    bases = ", ".join(base.__name__ for base in one.__bases__ if base is not object)
    if issubclass(one, enum.Enum) or _is_protocol(one) or issubclass(one, LookupError | ValueError):
        return f"class {name}({bases})"
    return f"class {_signature(name, one)}"


def _is_protocol(one: type) -> bool:
    return bool(getattr(one, "_is_protocol", False))


def _members(name: str, one: type) -> Iterator[str]:
    if issubclass(one, enum.Enum):
        values = "\n".join(f"{member.name} = {member.value!r}" for member in one)
        yield from (_fence(values), "")
    fields = (
        {field.name for field in dataclasses.fields(one)}
        if dataclasses.is_dataclass(one)
        else set()
    )
    for key, value in vars(one).items():
        if key.startswith("_") or key in fields or key in getattr(one, "_fields", ()):
            continue
        member = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(member, property):
            yield from (f"### {name}.{key} {{ #{name}.{key} }}", "", _docstring(member), "")
        elif inspect.isfunction(member):
            yield from (
                f"### {name}.{key} {{ #{name}.{key} }}",
                "",
                _fence(_signature(key, member)),
                "",
                _docstring(member),
                "",
            )


def _signature(name: str, one: Any) -> str:
    """A name with its parameters, in lines if they are many."""
    try:
        found = inspect.signature(one)
    except ValueError:
        return name
    parameters = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    found = inspect.Signature([_written(one) for one in parameters])
    returns = inspect.get_annotations(one).get("return") if inspect.isfunction(one) else None
    word = "async " if inspect.iscoroutinefunction(one) else ""
    end = f" -> {returns}" if returns else ""
    line = f"{word}{name}{found}{end}"
    if len(line) <= WIDTH:
        return line
    shown = "".join(f"    {part},\n" for part in _parameter_lines(found))
    return f"{word}{name}(\n{shown}){end}"


def _parameter_lines(found: inspect.Signature) -> Iterator[str]:
    """Each parameter, with the marks `/` and `*` where they belong."""
    kinds = inspect.Parameter
    previous = None
    for one in found.parameters.values():
        if previous is kinds.POSITIONAL_ONLY and one.kind is not kinds.POSITIONAL_ONLY:
            yield "/"
        if one.kind is kinds.KEYWORD_ONLY and previous not in (
            kinds.KEYWORD_ONLY,
            kinds.VAR_POSITIONAL,
        ):
            yield "*"
        previous = one.kind
        yield str(one)


def _written(one: inspect.Parameter) -> inspect.Parameter:
    """A parameter as it is written in the source: annotations are strings there."""
    if one.annotation is not inspect.Parameter.empty:
        one = one.replace(annotation=_Written(one.annotation))
    return one.replace(default=_default(one.default))


class _Written:
    """An annotation whose `repr` is its text."""

    def __init__(self, annotation: Any) -> None:
        self._text = getattr(annotation, "__forward_arg__", annotation)

    def __repr__(self) -> str:
        return self._text if isinstance(self._text, str) else inspect.formatannotation(self._text)


class _Ellipsis:
    """A default that has no short name."""

    def __repr__(self) -> str:
        return "..."


def _default(value: Any) -> Any:
    shown = repr(value)
    return _Ellipsis() if value is not inspect.Parameter.empty and shown.startswith("<") else value


def _docstring(one: Any) -> str:
    return inspect.getdoc(one) or ""


def _fence(code: str) -> str:
    return f"```py\n{code}\n```"
