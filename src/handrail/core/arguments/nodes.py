"""Nodes that find the paths in an argument: one class per kind of container, and one for a path.

`core/arguments/path_arguments.py` builds these nodes once per tool; a call only walks them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.paths import PathUse
from handrail.core.problems import ProblemRaised

# A call that names more paths than this is refused: each of them is resolved.
MAX_PATHS: Final = 10_000
# The types of values that an alternative of a union without path types may produce.
_PLAIN: Final = (str, int, float, bool, list, tuple, dict)


class PathValue(NamedTuple):
    """One path in the arguments of a call: its name there, its text, and what the call does with it."""

    name: str
    given: str
    uses: tuple[PathUse, ...]


class PathValues:
    """Collects the paths of one call by name."""

    def __init__(self) -> None:
        self._found: dict[str, PathValue] = {}

    def add(self, name: str, given: str, uses: tuple[PathUse, ...]) -> None:
        """Add a path; a second alternative at the same place adds its uses."""
        known = self._found.get(name)
        if known is not None:
            uses = tuple(dict.fromkeys((*known.uses, *uses)))
        elif len(self._found) >= MAX_PATHS:
            raise ProblemRaised("too_large", f"a call may name at most {MAX_PATHS:,} paths")
        self._found[name] = PathValue(name, given, uses)

    def __iter__(self) -> Iterator[PathValue]:
        return iter(self._found.values())


class PathNode(Protocol):
    """Finds the paths in one part of an argument."""

    def fits(self, value: Any) -> bool:
        """Whether the value has the shape that this node handles."""

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add every path in the value; `fits` has returned True for it."""

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The value with each path replaced by the entry of its name in `paths`."""


def collect_from(node: PathNode, value: Any, name: str, found: PathValues) -> None:
    """Add every path in the value; None contains none. Raises TypeError if the value does not have the
    shape that the type promises, which happens if a default or a validator made it.
    """
    if value is None:
        return
    if not node.fits(value):
        raise TypeError(f"{name}: no paths can be found in a {type(value).__name__}")
    node.collect(value, name, found)


def rebuild_in(node: PathNode, value: Any, name: str, paths: Mapping[str, str]) -> Any:
    """The value with its paths replaced; None and a value that does not fit the node are unchanged."""
    return node.rebuild(value, name, paths) if value is not None and node.fits(value) else value


class PathLeaf(NamedTuple):
    """A string that is a path."""

    uses: tuple[PathUse, ...]

    def fits(self, value: Any) -> bool:
        """Whether it is text."""
        return isinstance(value, str)

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the path."""
        found.add(name, value, self.uses)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The resolved path."""
        return paths.get(name, value)


class ItemsNode(NamedTuple):
    """A list, or a tuple of any length, whose items contain paths."""

    item: PathNode

    def fits(self, value: Any) -> bool:
        """Whether it is a list or a tuple."""
        return isinstance(value, list | tuple)

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of every item."""
        for index, item in enumerate(value):
            collect_from(self.item, item, f"{name}[{index}]", found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The items, each rebuilt, in a container of the same type."""
        items = enumerate(value)
        return type(value)(
            [rebuild_in(self.item, one, f"{name}[{at}]", paths) for at, one in items]
        )


class SlotsNode(NamedTuple):
    """A tuple with one type per position; `variadic` is the position that may repeat."""

    slots: tuple[PathNode | None, ...]
    variadic: int | None

    def fits(self, value: Any) -> bool:
        """Whether it is a tuple or a list with as many items as there are positions."""
        if not isinstance(value, list | tuple):
            return False
        extra = len(value) - len(self.slots)
        return extra == 0 if self.variadic is None else extra >= -1

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of the positions that contain paths."""
        for index, (slot, item) in enumerate(self._pairs(value)):
            if slot is not None:
                collect_from(slot, item, f"{name}[{index}]", found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The items, rebuilt in the positions that contain paths."""
        return type(value)(
            item if slot is None else rebuild_in(slot, item, f"{name}[{index}]", paths)
            for index, (slot, item) in enumerate(self._pairs(value))
        )

    def _pairs(self, value: Sequence[Any]) -> list[tuple[PathNode | None, Any]]:
        slots = list(self.slots)
        if self.variadic is not None:
            repeats = len(value) - len(slots) + 1
            slots[self.variadic : self.variadic + 1] = [slots[self.variadic]] * repeats
        return list(zip(slots, value, strict=True))


class ValuesNode(NamedTuple):
    """A dict whose values contain paths."""

    value: PathNode

    def fits(self, value: Any) -> bool:
        """Whether it is a dict."""
        return isinstance(value, Mapping)

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of every value."""
        for key, one in value.items():
            collect_from(self.value, one, f"{name}[{key!r}]", found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """A dict with the values rebuilt."""
        return {
            key: rebuild_in(self.value, one, f"{name}[{key!r}]", paths)
            for key, one in value.items()
        }


class KeysNode(NamedTuple):
    """A dict with named keys (a TypedDict), some of whose values contain paths."""

    keys: tuple[tuple[str, PathNode], ...]

    def fits(self, value: Any) -> bool:
        """Whether it is a dict."""
        return isinstance(value, Mapping)

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of the keys that are there."""
        for key, node in self.keys:
            if key in value:
                collect_from(node, value[key], f"{name}[{key!r}]", found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """A dict with the paths replaced."""
        changed = {
            key: rebuild_in(node, value[key], f"{name}[{key!r}]", paths)
            for key, node in self.keys
            if key in value
        }
        return {**value, **changed}


class FieldsNode(NamedTuple):
    """A model or dataclass. `fields` are attribute, name in a call, and node; `extras` is the node for
    the values of further arguments, if the model accepts any.
    """

    cls: type[Any]
    fields: tuple[tuple[str, str, PathNode], ...]
    extras: PathNode | None = None

    def fits(self, value: Any) -> bool:
        """Whether it is an instance of exactly this class: a subclass may have more paths."""
        return type(value) is self.cls

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of every field."""
        for attribute, shown, node in self.fields:
            collect_from(node, getattr(value, attribute), _join(name, shown), found)
        if self.extras is not None:
            for key, one in (value.__pydantic_extra__ or {}).items():
                collect_from(self.extras, one, f"{name}[{key!r}]", found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """A copy with the paths replaced; validators do not run again."""
        made = copy.copy(value)
        for attribute, shown, node in self.fields:
            old = getattr(value, attribute)
            object.__setattr__(made, attribute, rebuild_in(node, old, _join(name, shown), paths))
        if self.extras is not None:
            further = {
                key: rebuild_in(self.extras, one, f"{name}[{key!r}]", paths)
                for key, one in (value.__pydantic_extra__ or {}).items()
            }
            object.__setattr__(made, "__pydantic_extra__", further)
        return made


class ChoiceNode(NamedTuple):
    """A union. Every alternative that fits is used, because the value does not show which of them
    validation chose. `closed`: each alternative contains paths, so one of them must fit.
    """

    choices: tuple[PathNode, ...]
    closed: bool

    def fits(self, value: Any) -> bool:
        """Whether an alternative fits, or one without paths may have been chosen."""
        if any(one.fits(value) for one in self.choices):
            return True
        known = isinstance(value, _PLAIN) or hasattr(value, "__pydantic_fields__")
        return not self.closed and known

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of every alternative that fits; raises TypeError only if all of them fail."""
        fitting = [one for one in self.choices if one.fits(value)]
        failures: list[TypeError] = []
        for one in fitting:
            try:
                one.collect(value, name, found)
            except TypeError as error:
                failures.append(error)
        if fitting and len(failures) == len(fitting):
            raise failures[0]

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The value, rebuilt by every alternative that fits."""
        for one in self.choices:
            if one.fits(value):
                value = one.rebuild(value, name, paths)
        return value


class RootNode(NamedTuple):
    """A root model: its value has the name of the model itself."""

    cls: type[Any]
    root: PathNode

    def fits(self, value: Any) -> bool:
        """Whether it is an instance of exactly this class."""
        return type(value) is self.cls

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of the root value."""
        collect_from(self.root, value.root, name, found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """A copy with the root value rebuilt."""
        root = rebuild_in(self.root, value.root, name, paths)
        return value.model_copy(update={"root": root})


class ReferenceNode:
    """A type that is used in several places, or inside itself."""

    def __init__(self, resolve: Callable[[], PathNode]) -> None:
        self._resolve = resolve

    def fits(self, value: Any) -> bool:
        """Whether the value fits the type."""
        return self._resolve().fits(value)

    def collect(self, value: Any, name: str, found: PathValues) -> None:
        """Add the paths of the value."""
        self._resolve().collect(value, name, found)

    def rebuild(self, value: Any, name: str, paths: Mapping[str, str]) -> Any:
        """The value with its paths replaced."""
        return self._resolve().rebuild(value, name, paths)


def _join(name: str, key: str) -> str:
    """The name of a field below `name`; quoted if the key is not an identifier."""
    if not name:
        return key
    return f"{name}.{key}" if key.isidentifier() else f"{name}[{key!r}]"
