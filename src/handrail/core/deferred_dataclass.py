"""`dataclass`, cheap to import: `__init__` is compiled for the first instance of a class.

`dataclasses.dataclass` compiles up to seven methods per class on import, about 0.5 ms; start-up
imports some 180 such classes. Here comparison, hash and repr are shared functions;
`dataclasses.replace`, `fields` and `asdict` work as usual.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, TypeVar

_T = TypeVar("_T")

_lock: Final = RLock()
_FIELDS: Final = "__dataclass_fields__"
_OWN: Final = "__deferred_fields__"


class Lazy(Generic[_T]):
    """Calls `build` once, whichever thread asks first; if `build` raises, the next use tries
    again.
    """

    __slots__ = ("_build", "_lock", "built", "value")

    # Built when it is first used; a plain attribute from then on.
    value: _T

    def __init__(self, build: Callable[[], _T]) -> None:
        self._build = build
        self._lock = RLock()
        # The value if it has been used, else None.
        self.built: _T | None = None

    def __getattr__(self, name: str) -> _T:
        """The value, which is not set yet."""
        if name != "value":
            raise AttributeError(name)
        with self._lock:
            if self.built is None:
                self.built = self._build()
            self.value = self.built
            return self.built


class _DeferredField(NamedTuple):
    """A field as its class declares it; `default` may be MISSING or a `Field`."""

    name: str
    default: Any

    def option(self, name: str, otherwise: Any) -> Any:
        """An option of `field(...)`."""
        return getattr(self.default, name) if isinstance(self.default, Field) else otherwise


class _FieldsOnDemand:
    """`__dataclass_fields__`, worked out by the standard library when something asks for it."""

    def __init__(self, plain: type, options: dict[str, Any]) -> None:
        self._plain = plain
        self._options = options

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        with _lock:
            target = next(one for one in owner.__mro__ if _FIELDS in vars(one))
            if vars(target)[_FIELDS] is self:
                finished = dataclasses.dataclass(**self._options)(self._plain)
                for name in ("__dataclass_params__", _FIELDS):
                    setattr(target, name, getattr(finished, name))
            found: dict[str, Field[Any]] = vars(target)[_FIELDS]
            return found


def _defer(plain: type, *, slots: bool, frozen: bool, eq: bool) -> type:
    """The class with its methods; `__init__` compiles its successor."""
    hints = vars(plain).get("__annotations__", {})
    names = [name for name, hint in hints.items() if "ClassVar" not in str(hint)]
    own = {name: _DeferredField(name, vars(plain).get(name, MISSING)) for name in names}
    fields: dict[str, _DeferredField] = {}
    for base in reversed(plain.__mro__):
        fields |= vars(base).get(_OWN, {})
    fields |= own
    left_out = {"__dict__", "__weakref__", *own}
    namespace = _methods(list(fields.values()), frozen=frozen, eq=eq)
    namespace |= {name: value for name, value in vars(plain).items() if name not in left_out}
    namespace |= {"__slots__": tuple(names)} if slots else {}
    namespace |= {
        "__qualname__": plain.__qualname__,
        "__match_args__": tuple(fields),
        _OWN: own,
        _FIELDS: _FieldsOnDemand(plain, {"frozen": frozen, "eq": eq}),
    }

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        with _lock:
            if vars(finished)["__init__"] is initialize:
                compiled = _compile_init(finished, list(fields.values()), frozen=frozen)
                finished.__init__ = compiled  # type: ignore[misc]
        finished.__init__(self, *args, **kwargs)  # type: ignore[misc]

    namespace["__init__"] = initialize
    finished = type(plain)(plain.__name__, plain.__bases__, namespace)
    return finished


def _methods(fields: list[_DeferredField], *, frozen: bool, eq: bool) -> dict[str, Any]:
    """The methods that need no code of their own per class."""
    compared = [one.name for one in fields if one.option("compare", True)]
    shown = [one.name for one in fields if one.option("repr", True)]
    key: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    @recursive_repr()
    def show(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def equals(self: Any, other: object) -> bool:
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def digest(self: Any) -> int:
        return hash(key(self))

    def refuse(self: Any, name: str, value: object = None) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")

    methods: dict[str, Any] = {"__repr__": show}
    if eq:
        methods |= {"__eq__": equals, "__hash__": digest if frozen else None}
    if frozen:
        methods |= {"__setattr__": refuse, "__delattr__": refuse}
    return methods


def _compile_init(cls: type, fields: list[_DeferredField], *, frozen: bool) -> Callable[..., None]:
    """An `__init__` with the parameters that the standard library would give it."""
    values: dict[str, Any] = {"_set": object.__setattr__, "_NONE": MISSING}
    parameters, body = ["self"], []
    for name, default in fields:
        factory = getattr(default, "default_factory", MISSING)
        plain = default.default if isinstance(default, Field) else default
        source = name
        if isinstance(default, Field) and not default.init:
            # Set by `__post_init__`.
            continue
        if factory is not MISSING:
            values[f"_make_{name}"] = factory
            parameters.append(f"{name}=_NONE")
            source = f"_make_{name}() if {name} is _NONE else {name}"
        elif plain is not MISSING:
            values[f"_default_{name}"] = plain
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(f"_set(self, {name!r}, {source})" if frozen else f"self.{name} = {source}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
    # The text consists of the names of fields, which are identifiers of our own source.
    exec(text, values)  # noqa: S102
    compiled: Callable[..., None] = values["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, slots: bool = False, frozen: bool = False, eq: bool = True
    ) -> Callable[[type], type]:
        """The decorator, with three of the options of the standard library."""
        return lambda plain: _defer(plain, slots=slots, frozen=frozen, eq=eq)
