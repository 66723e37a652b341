"""Dialects as tables of views of the canonical tools, and the translation of names and arguments.

All other packages see only canonical names. A dialect has no parameters and no implementation of its
own, so that no vocabulary can do what another cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from handrail.core.names.caller_words import CallerWords, arg_name
from handrail.core.problems import ProblemRaised
from handrail.core.traits import ToolTraits

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_LIMITS: Final = frozenset({"enum", "minimum", "maximum"})
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument as a dialect shows it.

    `canonical` None: the tool has no such argument; it is accepted and recorded, but not passed on.
    `read` converts a value to the canonical one, `show` converts it back; `schema` overrides parts of
    the canonical schema; a `hidden` argument is accepted but not shown.
    """

    name: str
    canonical: str | None
    schema: Mapping[str, Any] = field(default_factory=dict)
    read: Convert | None = None
    show: Convert | None = None
    hidden: bool = False
    # Names inside the items of a list: name in this dialect → canonical name.
    inner: Mapping[str, str] = field(default_factory=dict)

    def read_value(self, value: Any) -> Any:
        """The canonical value."""
        value = _rename_items(value, self.inner) if self.inner else value
        return self.read(value) if self.read else value

    def show_value(self, value: Any) -> Any:
        """The value in this vocabulary."""
        value = self.show(value) if self.show else value
        inverse = {to: name for name, to in self.inner.items()}
        return _rename_items(value, inverse) if inverse else value


def same(*names: str) -> tuple[Arg, ...]:
    """Arguments that are shown under their canonical names."""
    return tuple(Arg(name, name) for name in names)


@dataclass(frozen=True, eq=False)
class View:
    """A canonical tool as a dialect shows it.

    `rest`: arguments that are not in `args` are shown under their canonical names. `defaults` are
    canonical values for arguments that the caller leaves out. `note` follows the first line of the
    tool's description. `example` is a call with the names of this view. `required` are arguments that
    must be given although the tool does not require them. `openings` maps the first words of a result
    about a job to those of this dialect.
    """

    tool: str
    name: str
    args: tuple[Arg, ...] = ()
    rest: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    example: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    openings: Mapping[str, str] = field(default_factory=dict)

    def units(self, spelled: Mapping[str, str]) -> dict[str, Convert]:
        """Canonical name → the conversion to this view's values, for arguments under this view's names."""
        return {
            arg.canonical: arg.show
            for arg in self.args
            if arg.canonical and arg.show and spelled.get(arg.canonical) == arg.name
        }

    @cached_property
    def inner_names(self) -> dict[str, dict[str, str]]:
        """Canonical argument → (canonical name inside its items → this view's name)."""
        named = {arg.canonical: arg.inner for arg in self.args if arg.canonical and arg.inner}
        return {name: {to: one for one, to in inner.items()} for name, inner in named.items()}

    @cached_property
    def _limited(self) -> tuple[tuple[str, Arg], ...]:
        """The arguments whose values this view limits more than the tool does."""
        named = ((arg.canonical, arg) for arg in self.args)
        return tuple((name, arg) for name, arg in named if name and _LIMITS & arg.schema.keys())

    def check_limits(self, given: Collection[str], values: object) -> None:
        """Raise `invalid_arguments` if the value of an argument, although the tool accepts it, is not one
        that the view declares. `given` are canonical names.
        """
        for name, arg in self._limited:
            if name not in given:
                continue
            value = arg.show_value(getattr(values, name))
            if reason := _outside(arg.schema, value):
                raise _not_declared(arg_name(name), reason, value)

    def shown_args(self, canonical: Iterable[str]) -> list[Arg]:
        """The arguments that a model is shown; `canonical` are the arguments of the tool."""
        listed = {arg.canonical: arg for arg in self.args}
        if not self.rest:
            return [arg for arg in self.args if not arg.hidden]
        all_args = [listed.get(name) or Arg(name, name) for name in canonical]
        return [arg for arg in all_args if not arg.hidden]


@dataclass(frozen=True, eq=False)
class Dialect:
    """A vocabulary; `version` is raised when the declarations for models change.

    `hidden_by_default` are tools that this dialect shows only if their name or group is requested, in
    addition to the tools that declare this themselves. `keeps_directory`: a command starts in the
    directory in which the previous one ended. `output_lines` is the most lines of a command's output
    that are shown, within the limit of characters. `command_timeout_s` is the default time limit of
    commands, if neither the call nor the settings have one. `actions` are tools that a model may call
    by writing `{"type": TOOL, …}` as the whole text of its reply.
    """

    name: str
    version: int
    views: tuple[View, ...]
    hidden_by_default: frozenset[str] = frozenset()
    keeps_directory: bool = False
    output_lines: int = 200
    command_timeout_s: int | None = None
    actions: frozenset[str] = frozenset()

    def hides(self, tool: str, traits: ToolTraits) -> bool:
        """Whether a tool is shown only if its name or group is requested."""
        return traits.hidden_by_default or tool in self.hidden_by_default


class TranslatedCall(NamedTuple):
    """The arguments of a call under canonical names.

    `ignored` are arguments without a canonical counterpart. `spelled` maps canonical names to the
    caller's: the names that were used, otherwise the names that are shown.
    """

    arguments: Mapping[str, Any]
    ignored: Mapping[str, Any]
    spelled: Mapping[str, str]


class ViewTable(NamedTuple):
    """How the arguments of one view are translated; computed once. Arguments without a `foreign` name
    need no translation, unless the view has `defaults` or `required` arguments.
    """

    args: Mapping[str, Arg]
    foreign: frozenset[str]
    # Canonical name → the name that the view shows.
    spelled: Mapping[str, str]
    defaults: Mapping[str, Any]
    required: tuple[str, ...] = ()
    # Whether there are defaults or required arguments.
    completes: bool = False


_SAME_NAMES: Final = ViewTable(NOTHING, frozenset(), NOTHING, NOTHING)


class Vocabulary:
    """Shows one dialect, and accepts the names of all dialects in calls."""

    def __init__(self, dialect: Dialect, others: Sequence[Dialect]) -> None:
        self.dialect = dialect
        dialects = (dialect, *others)
        self._exact: dict[str, View] = {}
        self._by_tool: dict[str, list[View]] = {}
        for view in [view for one in dialects for view in one.views]:
            self._exact.setdefault(view.name, view)
            self._by_tool.setdefault(view.tool, []).append(view)
        self._folded = _folded(self._exact)
        self._tables: dict[View, ViewTable] = {}

    def resolve(self, name: str) -> View | None:
        """The view of a name: in this dialect, otherwise the canonical one, otherwise one in another
        dialect. A name in another letter case is accepted if it can mean only one tool.
        """
        return self._exact.get(name) or self._folded.get(name.casefold())

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of a tool that is accepted."""
        return tuple(self._exact)

    def accepted(self) -> Iterable[tuple[str, View]]:
        """Every name of a tool that is accepted, with its view."""
        return self._exact.items()

    def shown(self, tool: str) -> View:
        """The view of a canonical tool in this dialect; a tool without a view is shown as it is."""
        return self.views(tool)[0]

    def shown_name(self, tool: str) -> str:
        """The name under which this dialect shows a canonical tool."""
        return self.shown(tool).name

    def shows(self, view: View) -> bool:
        """Whether a view belongs to this dialect, and not to another one that is only accepted."""
        return view in self.dialect.views

    def views(self, tool: str) -> list[View]:
        """All views of a canonical tool in this dialect, such as grep for plain text and for patterns."""
        known = self._by_tool.get(tool)
        if known is None:
            return [_identity(tool)]
        own = [view for view in self.dialect.views if view.tool == tool]
        return own or [next((view for view in known if view.name == tool), known[0])]

    def chosen_views(self, tool: str, names: Collection[str]) -> list[View]:
        """The views of a tool for a caller whose tools are listed in `names`: the views that are listed,
        or all if the tool is listed under another name. `TOOL:NAME` is a view that was declared to the
        model.
        """
        views = self.views(tool)
        if len(views) == 1:
            return views
        declared = [view for view in views if f"{tool}:{view.name}" in names]
        if declared:
            return declared
        named = [view for view in views if view.name in names]
        known = {view.name for view in views}
        meant = (found for name in names if name not in known and (found := self.resolve(name)))
        others = any(found.tool == tool for found in meant) or any("*" in name for name in names)
        return views if others or not named else named

    def table(self, view: View) -> ViewTable:
        """How the arguments of a view are translated."""
        table = self._tables.get(view)
        if table is None:
            if view.tool not in self._by_tool:
                return _SAME_NAMES
            table = self._tables[view] = self._table(view)
        return table

    def translate(self, view: View, arguments: Mapping[str, Any]) -> TranslatedCall:
        """Translate arguments to canonical ones; raises `invalid_arguments` if two spellings of an
        argument have different values, or if an argument is missing that this view requires.
        """
        table = self.table(view)
        if not table.completes and arguments.keys().isdisjoint(table.foreign):
            return TranslatedCall(arguments, NOTHING, table.spelled)
        return _translated(table, arguments)

    def caller_words(
        self, view: View, shown: View, spelled: Mapping[str, str], given: Collection[str]
    ) -> CallerWords:
        """The names for the answer to a call of a view: those that were `given`, otherwise those of
        `shown`, the view of this dialect.
        """
        if view is not shown:
            own = self.table(shown).spelled
            used = {name: word for name, word in spelled.items() if word in given}
            spelled = {**own, **{name: name for name in own if name in given}, **used}

        def shown_name(tool: str) -> str:
            return shown.name if tool == shown.tool else self.shown_name(tool)

        spell = partial(self.spell, shown)
        return CallerWords(spelled, shown.rest, shown_name, spell, self.dialect.name)

    def spell(self, view: View, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Canonical arguments in the names and units of a view, without its defaults."""
        names = {arg.canonical: arg for arg in reversed(view.args) if arg.canonical}
        spelled = {}
        for name, value in arguments.items():
            if name in view.defaults and view.defaults[name] == value:
                continue
            arg = names.get(name) or Arg(name, name)
            spelled[arg.name] = arg.show_value(value)
        return spelled

    def _table(self, view: View) -> ViewTable:
        args: dict[str, Arg] = {}
        for other in (view, *self._by_tool.get(view.tool, ())):
            for arg in other.args:
                args.setdefault(arg.name, arg)
        spelled = {arg.canonical: arg.name for arg in view.args if arg.canonical and not arg.hidden}
        foreign = {
            name for name, arg in args.items() if arg.canonical != name or arg.read or arg.inner
        }
        # Canonical names are accepted too, but `spelled` must then say that they were used.
        foreign |= {name for name, shown in spelled.items() if name != shown}
        completes = bool(view.defaults or view.required)
        return ViewTable(args, frozenset(foreign), spelled, view.defaults, view.required, completes)


@lru_cache(maxsize=1024)
def _identity(tool: str) -> View:
    # The cache is bounded because models invent names, and each of them is looked up here.
    return View(tool, tool, rest=True)


def _folded(exact: Mapping[str, View]) -> dict[str, View]:
    found: dict[str, list[View]] = {}
    for name, view in exact.items():
        found.setdefault(name.casefold(), []).append(view)
    return {
        name: views[0] for name, views in found.items() if len({view.tool for view in views}) == 1
    }


def _translated(table: ViewTable, arguments: Mapping[str, Any]) -> TranslatedCall:
    canonical = dict(table.defaults)
    ignored: dict[str, Any] = {}
    used: dict[str, str] = {}
    for name, given in arguments.items():
        arg = table.args.get(name)
        if arg is None:
            target, value = name, given
        elif arg.canonical is None:
            ignored[name] = given
            continue
        else:
            target, value = arg.canonical, arg.read_value(given)
        if target in used and not _equal(canonical[target], value):
            raise _disagreement(used[target], name)
        canonical[target] = value
        used[target] = name
    missing = [one for one in table.required if table.args[one].canonical not in used]
    if missing:
        raise _lacking(missing, table.spelled.values())
    # Without unknown names, which validation reports.
    known = {to: name for to, name in used.items() if name in table.args or to in table.spelled}
    return TranslatedCall(canonical, ignored, {**table.spelled, **known})


def _rename_items(value: Any, names: Mapping[str, str]) -> Any:
    """The list with the keys of its items renamed; an item with both names is left to validation."""
    if not isinstance(value, list):
        return value
    return [
        {
            names.get(key, key) if names.get(key, key) not in one else key: part
            for key, part in one.items()
        }
        if isinstance(one, Mapping)
        else one
        for one in value
    ]


def _equal(one: Any, two: Any) -> bool:
    # 1 and True are equal in Python, and different in JSON.
    return type(one) is type(two) and one == two


def _outside(schema: Mapping[str, Any], value: Any) -> str | None:
    """Why a value is not one that a schema declares, None if it is; letter case is ignored."""
    if "enum" in schema:
        words = [str(one).casefold() for one in schema["enum"]]
        if str(value).strip().casefold() not in words:
            named = ", ".join(repr(one) for one in schema["enum"])
            return f"should be one of {named}"
    if isinstance(value, int | float):
        if value < schema.get("minimum", value):
            return f"should be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            return f"should be at most {schema['maximum']}"
    return None


def _not_declared(name: str, reason: str, value: Any) -> ProblemRaised:
    message = f"Invalid arguments: {name!r} {reason}, not {value!r:.60}"
    return ProblemRaised("invalid_arguments", message, field=name)


def _lacking(missing: Sequence[str], accepted: Iterable[str]) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"Invalid arguments: {'; '.join(f'{one!r} is required' for one in missing)}",
        hint=f"accepted arguments: {', '.join(accepted)}",
        field=missing[0],
    )


def _disagreement(one: str, two: str) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"Invalid arguments: {one!r} and {two!r} mean the same argument but have different values",
        hint=f"give only {one!r}",
        field=two,
    )
