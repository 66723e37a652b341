"""What a dialect is: a table of views over the canonical tools, and how names are looked up.

Everything behind this point sees canonical names only. A dialect never has parameters or
an implementation of its own, so that no vocabulary can do what another cannot.
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

    `canonical` None: we have no such argument; it is accepted and recorded, not passed on.
    `read` turns a value into the canonical one, `show` back; `schema` overrides what the
    canonical argument's schema says; a hidden argument is accepted but not shown.
    """

    name: str
    canonical: str | None
    schema: Mapping[str, Any] = field(default_factory=dict)
    read: Convert | None = None
    show: Convert | None = None
    hidden: bool = False
    # Names inside the items of a list, from this vocabulary's to the canonical ones.
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

    `rest` shows the arguments that `args` does not list, under their own names. `defaults`
    are canonical values for what the caller leaves out. `note` follows the
    first line of the tool's description. `example` is a call with the names of this view.
    `required` are arguments that must be given although the tool could do without them.
    `openings` maps the first words of a result about a job to those of this vocabulary.
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
        """What turns canonical values into this view's, for arguments called by this view's names."""
        return {
            arg.canonical: arg.show
            for arg in self.args
            if arg.canonical and arg.show and spelled.get(arg.canonical) == arg.name
        }

    @cached_property
    def inner_names(self) -> dict[str, dict[str, str]]:
        """This view's names inside of canonical arguments, by the canonical ones."""
        named = {arg.canonical: arg.inner for arg in self.args if arg.canonical and arg.inner}
        return {name: {to: one for one, to in inner.items()} for name, inner in named.items()}

    @cached_property
    def _limited(self) -> tuple[tuple[str, Arg], ...]:
        """The arguments whose values this view limits further than the tool does."""
        named = ((arg.canonical, arg) for arg in self.args)
        return tuple((name, arg) for name, arg in named if name and _LIMITS & arg.schema.keys())

    def check_limits(self, given: Collection[str], values: object) -> None:
        """Raise `invalid_arguments` for a given argument, named canonically, whose valid value is not
        one that the view declares.
        """
        for name, arg in self._limited:
            if name not in given:
                continue
            value = arg.show_value(getattr(values, name))
            if reason := _outside(arg.schema, value):
                raise _not_declared(arg_name(name), reason, value)

    def shown_args(self, canonical: Iterable[str]) -> list[Arg]:
        """The arguments that a model is shown, given the names the tool has."""
        listed = {arg.canonical: arg for arg in self.args}
        if not self.rest:
            return [arg for arg in self.args if not arg.hidden]
        all_args = [listed.get(name) or Arg(name, name) for name in canonical]
        return [arg for arg in all_args if not arg.hidden]


@dataclass(frozen=True, eq=False)
class Dialect:
    """A vocabulary; `version` is raised when what a model is shown changes.

    `hidden_by_default` are tools that this dialect shows only where their name or their group is
    asked for, beside those that declare it themselves.
    `keeps_directory`: where a command ends is where the next one starts. `output_lines` is how
    many lines of a command's output are shown, as long as its characters fit. `command_timeout_s`
    is how long a command may run if neither the call nor the settings say. `actions` are tools that
    a model may call by writing `{"type": TOOL, …}` as the whole text of its reply.
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
        """Whether a tool is shown only where its name or its group is asked for."""
        return traits.hidden_by_default or tool in self.hidden_by_default


class TranslatedCall(NamedTuple):
    """Arguments in canonical names.

    `ignored` holds what was given and has no meaning here. `spelled` leads from canonical
    names to the caller's: the ones that were used, else the ones that are shown.
    """

    arguments: Mapping[str, Any]
    ignored: Mapping[str, Any]
    spelled: Mapping[str, str]


class ViewTable(NamedTuple):
    """How the arguments of one view are translated, worked out once. Arguments that have no
    `foreign` name need no translation, unless there are `defaults` or `required` ones.
    """

    args: Mapping[str, Arg]
    foreign: frozenset[str]
    # From canonical names to the names that the view shows.
    spelled: Mapping[str, str]
    defaults: Mapping[str, Any]
    required: tuple[str, ...] = ()
    # Whether there are defaults or required arguments.
    completes: bool = False


_SAME_NAMES: Final = ViewTable(NOTHING, frozenset(), NOTHING, NOTHING)


class Vocabulary:
    """One dialect as it is shown, with every spelling of all others accepted on input."""

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
        """The view that a name means: in this dialect, canonically, in any other dialect.

        A name in another case is accepted if it can mean only one tool.
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
        """How this dialect shows a canonical tool; a tool that no table knows, as it is."""
        return self.views(tool)[0]

    def shown_name(self, tool: str) -> str:
        """The name under which this dialect shows a canonical tool."""
        return self.shown(tool).name

    def shows(self, view: View) -> bool:
        """Whether a view belongs to this dialect itself, not to another that is accepted."""
        return view in self.dialect.views

    def views(self, tool: str) -> list[View]:
        """Every way in which this dialect shows a canonical tool (grep: literal and regex)."""
        known = self._by_tool.get(tool)
        if known is None:
            return [_identity(tool)]
        own = [view for view in self.dialect.views if view.tool == tool]
        return own or [next((view for view in known if view.name == tool), known[0])]

    def chosen_views(self, tool: str, names: Collection[str]) -> list[View]:
        """The ways in which a tool is shown to a caller for whom these names are listed: those that
        are named, or every one if the tool is listed by another name. `TOOL:NAME` is one that a
        model was shown.
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
        """Canonical arguments; raises `invalid_arguments` if two spellings disagree, or an argument
        is missing that this view requires.
        """
        table = self.table(view)
        if not table.completes and arguments.keys().isdisjoint(table.foreign):
            return TranslatedCall(arguments, NOTHING, table.spelled)
        return _translated(table, arguments)

    def caller_words(
        self, view: View, shown: View, spelled: Mapping[str, str], given: Collection[str]
    ) -> CallerWords:
        """The names in which a call of a view is answered: those that were `given`, else those of
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
        """Canonical arguments in a view's own words, without what it would add by itself."""
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
        # Canonical names pass as they are, but then `spelled` must say that they were used.
        foreign |= {name for name, shown in spelled.items() if name != shown}
        completes = bool(view.defaults or view.required)
        return ViewTable(args, frozenset(foreign), spelled, view.defaults, view.required, completes)


@lru_cache(maxsize=1024)
def _identity(tool: str) -> View:
    # Bounded: models make up names, and each is looked up here.
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
    # An unknown name is no spelling of an argument; validation reports it.
    known = {to: name for to, name in used.items() if name in table.args or to in table.spelled}
    return TranslatedCall(canonical, ignored, {**table.spelled, **known})


def _rename_items(value: Any, names: Mapping[str, str]) -> Any:
    """The list with other names in its items; an item with both names is left for validation."""
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
    """Why a value is not one that a schema declares, None if it is; words count in any case."""
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
