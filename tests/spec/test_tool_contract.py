"""What a tool of one's own may do unasked follows from what it states, in every mode.

{class, raw schema, `@tool`}, {no path, path, optional, list, tuple, dict, nested}, every mode.
"""

import dataclasses
import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, create_model
from typing_extensions import TypeAliasType, TypedDict

import handrail
from handrail import Effects, Output, Params, ReadPath, TreePath, WritePath
from handrail.policy.modes import Mode

OUTSIDE = "../../etc/passwd"


class NestedRead(BaseModel):
    path: ReadPath


class NestedWrite(BaseModel):
    path: WritePath


# Shape → the type for reading, the type for writing, and how a path is given.
SHAPES = {
    "path": (ReadPath, WritePath, lambda path: path),
    "optional": (ReadPath | None, WritePath | None, lambda path: path),
    "list": (list[ReadPath], list[WritePath], lambda path: ["in.txt", path]),
    "tuple": (tuple[ReadPath, int], tuple[WritePath, int], lambda path: [path, 1]),
    "dict": (dict[str, ReadPath], dict[str, WritePath], lambda path: {"k": path}),
    "nested": (NestedRead, NestedWrite, lambda path: {"path": path}),
    "nested list": (
        list[NestedRead] | None,
        list[NestedWrite] | None,
        lambda path: [{"path": "in.txt"}, {"path": path}],
    ),
}
SCHEMAS = {
    "path": lambda path: path,
    "optional": lambda path: {"anyOf": [path, {"type": "null"}]},
    "list": lambda path: {"type": "array", "items": path},
    "tuple": None,
    "dict": lambda path: {"type": "object", "additionalProperties": path},
    "nested": lambda path: {"type": "object", "properties": {"path": path}, "required": ["path"]},
    "nested list": lambda path: {
        "type": "array",
        "items": {"type": "object", "properties": {"path": path}, "required": ["path"]},
    },
}
FORMS = ["class", "raw schema", "function"]
READS, WRITES, PURE, OPEN = (
    Effects.READS_PATHS,
    Effects.WRITES_PATHS,
    Effects.PURE,
    Effects.OPEN_ENDED,
)
# What the mode decides about a read, about a write by a tool's own hands, and about a tool that
# may do anything: it happens, a person is asked, it is refused, or it is queued.
DECISIONS = {
    Mode.DEFAULT: ("ok", "ask"),
    Mode.CONFIRM_ALL: ("ask", "ask"),
    Mode.ACCEPT_EDITS: ("ok", "ask"),
    Mode.SANDBOXED: ("ok", "ask"),
    Mode.AUTO_SAFE: ("ok", "ok"),
    Mode.STRICT: ("ok", "ok"),
    Mode.PLAN: ("ok", "queued"),
    Mode.DONT_ASK: ("ok", "refused"),
    Mode.BYPASS: ("ok", "ok"),
}


def made(form, shape, effects, runs, *, write):
    """A tool of that form whose argument `at` has that shape; it notes that it ran."""
    annotation: Any = str if shape is None else SHAPES[shape][1 if write else 0]
    if form == "function":

        async def own(at):
            runs.append(at)
            return "ran"

        own.__annotations__ = {"at": annotation}
        return handrail.tool(own) if effects is None else handrail.tool(effects=effects)(own)

    class Own(handrail.Tool):
        name = "own"
        summary = "Runs."

        async def run(self, args, ctx):
            runs.append([place.absolute for place in ctx.list_places("at")])
            return Output("ran")

    if effects is not None:
        Own.effects = effects
    if form == "class":
        Own.params = create_model("OwnParams", __base__=Params, at=(annotation, ...))
    else:
        path = {"type": "string"}
        if shape is not None:
            path["x-handrail-path"] = "write" if write else "read"
        part = path if shape is None else SCHEMAS[shape](path)
        Own.raw_schema = {"type": "object", "properties": {"at": part}, "required": ["at"]}
        Own.params = None
    return Own()


def outcome(result):
    if result.ok:
        return "queued" if "queued" in result.meta else "ok"
    return {"needs_approval": "ask", "denied": "refused"}.get(
        result.problem.code, result.problem.code
    )


async def kinds(rt):
    """What is on record of the last call: whether an intent came before its end."""
    [record] = await rt.store.calls(limit=1)
    return record.intent is not None


def shapes_of(form):
    return [one for one in SHAPES if form != "raw schema" or SCHEMAS[one] is not None]


CASES = [(form, shape) for form in FORMS for shape in [None, *shapes_of(form)]]


@pytest.mark.finding("F01")
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(("form", "shape"), CASES)
async def test_what_is_stated_decides_in_every_mode(workspace, open_runtime, form, shape, mode):
    workspace.write("in.txt", "in")
    given = (lambda path: path) if shape is None else SHAPES[shape][2]
    on_read, on_write = DECISIONS[mode]
    stated = None if form == "function" else OPEN if shape is None else WRITES
    harmless = PURE if shape is None else (None if form == "function" else READS)
    for effects, write, wanted in ((harmless, False, on_read), (stated, True, on_write)):
        runs = []
        async with open_runtime(mode=mode.value, approver=None, config={}) as rt:
            rt.register(made(form, shape, effects, runs, write=write))
            result = await rt.call("own", {"at": given("a.txt")})
            intent = await kinds(rt)

        assert outcome(result) == wanted, result.text
        assert bool(runs) == (wanted == "ok")
        # Nothing that has effects runs without an intent on record; a read needs none.
        assert intent == (wanted == "ok" and write)


@pytest.mark.finding("F01")
@pytest.mark.parametrize(("form", "shape"), [one for one in CASES if one[1] is not None])
@pytest.mark.parametrize("write", [False, True])
async def test_a_path_is_contained_wherever_it_stands(open_runtime, form, shape, write):
    runs, given = [], SHAPES[shape][2]
    effects = None if form == "function" else WRITES if write else READS
    async with open_runtime(mode="bypass") as rt:
        rt.register(made(form, shape, effects, runs, write=write))
        for path in (OUTSIDE, "/etc/passwd", "./../x"):
            result = await rt.call("own", {"at": given(path)})
            assert result.problem.code == "outside_workspace", result.text
        inside = await rt.call("own", {"at": given("a.txt")})

    assert inside.ok
    assert len(runs) == 1
    assert "/a.txt" in json.dumps(runs[0], default=lambda one: one.__dict__)


@pytest.mark.finding("F01")
@pytest.mark.parametrize(("form", "shape"), [one for one in CASES if one[1] is not None])
async def test_rules_hooks_and_order_see_every_path(workspace, open_runtime, form, shape):
    workspace.write("secret/key", "k")
    seen, given = [], SHAPES[shape][2]

    class Watching:
        async def before(self, call):
            seen.append(call.files)

        async def after(self, call, result):
            return None

    config = {"permissions": {"deny": ["read_file(secret/**)", "write_file(closed/**)"]}}
    for write, path in ((False, "secret/key"), (True, "closed/x")):
        runs = []
        effects = None if form == "function" else WRITES if write else READS
        async with open_runtime(mode="bypass", config=config) as rt:
            rt.hooks.append(Watching())
            rt.register(made(form, shape, effects, runs, write=write))
            refused = await rt.call("own", {"at": given(path)})
            free = await rt.call("own", {"at": given("free.txt")})
            write_file = {"path": "free.txt", "content": ""}
            ordered = rt.plan(
                [
                    {"id": "1", "name": "own", "arguments": {"at": given("free.txt")}},
                    {"id": "2", "name": "write_file", "arguments": write_file},
                ]
            )

        assert refused.problem.code == "denied", refused.text
        assert free.ok
        assert len(runs) == 1
        assert ordered.groups == (("1",), ("2",))
    assert any(str(workspace.root / "free.txt") in files for files in seen)


@pytest.mark.finding("F01")
@pytest.mark.parametrize("form", ["class", "raw schema"])
@pytest.mark.parametrize("shape", [None, "path"])
async def test_without_a_statement_a_tool_is_not_registered(open_runtime, form, shape):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match="must state its effects"):
            rt.register(made(form, shape, None, [], write=False))
        assert not rt.registry.has_tool("own")


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    ("shape", "write", "effects"),
    [
        ("path", True, READS),
        ("list", True, READS),
        ("path", False, PURE),
        ("nested", False, Effects.SESSION),
        ("path", False, WRITES),
        (None, False, READS),
        (None, False, WRITES),
        ("path", False, PURE | READS),
        (None, False, Effects(0)),
    ],
)
@pytest.mark.parametrize("form", FORMS)
async def test_a_statement_that_the_parameters_contradict_is_refused(
    open_runtime, form, shape, write, effects
):
    async with open_runtime() as rt:
        with pytest.raises(TypeError):
            rt.register(made(form, shape, effects, [], write=write))


class Stated(handrail.Tool):
    """A tool that says per call what it touches."""

    name = "own"
    summary = "Says what it touches."

    class params(Params):
        at: WritePath | None = None
        key: str = ""

    def __init__(self, effects, footprint):
        self.effects = effects
        self._said = footprint
        self.ran = False

    def footprint(self, args):
        return self._said(args)

    async def run(self, args, ctx):
        self.ran = True
        return Output("ran")


def touching(key, access=handrail.Access.WRITE, **more):
    return handrail.Footprint((handrail.Touch(key, access),), **more)


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    ("effects", "footprint"),
    [
        (WRITES, handrail.Footprint(open_ended=True)),
        (WRITES, touching("net:example.org")),
        (WRITES, touching("session:x")),
        (WRITES, touching("job:1", handrail.Access.READ)),
        (WRITES, touching("anything:else")),
        (WRITES | Effects.SESSION, touching("net:x")),
        (WRITES, "no footprint at all"),
    ],
)
async def test_a_footprint_wider_than_the_statement_is_a_defect(open_runtime, effects, footprint):
    tool = Stated(effects, lambda args: footprint)
    async with open_runtime(mode="bypass") as rt:
        rt.register(tool)
        result = await rt.call("own")

    assert result.problem.code == "internal"
    assert not tool.ran


@pytest.mark.finding("F01")
async def test_a_footprint_may_be_narrower_and_never_forgets_a_path(workspace, open_runtime):
    root = workspace.root
    reading = Stated(WRITES, lambda args: touching(f"file:{root}/a", handrail.Access.READ))
    nothing = Stated(WRITES, lambda args: handrail.Footprint())
    async with open_runtime(mode="plan") as rt:
        rt.register(reading)
        narrowed = await rt.call("own", {"at": "a"})
        rt.registry.unregister("own")
        rt.register(nothing)
        forgotten = await rt.call("own", {"at": "a"})
        none_given = await rt.call("own", {})

    assert narrowed.ok
    assert reading.ran
    assert forgotten.meta["queued"]
    assert none_given.ok


@pytest.mark.finding("F01")
@pytest.mark.parametrize("key", ["file:/etc/passwd", "tree:/", "file:../x", "file:out/x"])
async def test_a_footprint_is_contained_as_well(workspace, open_runtime, key, tmp_path):
    (workspace.root / "out").symlink_to(tmp_path)
    tool = Stated(WRITES, lambda args: touching(key, handrail.Access.READ))
    async with open_runtime(mode="bypass") as rt:
        rt.register(tool)
        result = await rt.call("own")

    assert result.problem.code == "outside_workspace"
    assert not tool.ran


@pytest.mark.finding("F01")
async def test_a_footprint_binds_by_the_real_name(workspace, open_runtime):
    workspace.write("secret/key", "k")
    (workspace.root / "link").symlink_to("secret")
    tool = Stated(WRITES, lambda args: touching(args.key, handrail.Access.READ))
    config = {"permissions": {"deny": ["read_file(secret/**)"]}}
    async with open_runtime(mode="bypass", config=config) as rt:
        rt.register(tool)
        results = [
            await rt.call("own", {"key": key}) for key in ("file:link/key", "file:secret/key")
        ]

    assert [one.problem.code for one in results] == ["denied", "denied"]


@pytest.mark.finding("F01")
@pytest.mark.parametrize("effects", [WRITES, READS, OPEN])
async def test_a_plan_is_never_only_a_read(workspace, open_runtime, effects):
    class Planning(handrail.Tool):
        name = "own"
        summary = "Plans."

        class params(Params):
            at: WritePath | None = None

        async def plan(self, args, ctx):
            return handrail.Plan(text="planned", changes=())

    Planning.effects = effects
    async with open_runtime(mode="plan") as rt:
        if effects is READS:
            with pytest.raises(TypeError):
                rt.register(Planning())
            return
        rt.register(Planning())
        result = await rt.call("own", {})

    assert result.meta["queued"]


# --- where a path type may stand ----------------------------------------------------------


@dataclasses.dataclass
class Data:
    path: ReadPath


@dataclasses.dataclass
class HiddenData:
    path: Annotated[ReadPath, PlainValidator(lambda value: value)]


class HiddenKeys(TypedDict):
    path: Annotated[ReadPath, PlainValidator(lambda value: value)]


class Keys(TypedDict):
    path: ReadPath


class Tree(BaseModel):
    path: ReadPath
    children: "list[Tree]" = []


class Cat(BaseModel):
    kind: Literal["cat"]
    path: ReadPath


class Dog(BaseModel):
    kind: Literal["dog"]
    path: WritePath


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, ReadPath]


class Aliased(BaseModel):
    source: ReadPath = Field(alias="from")


Alias = TypeAliasType("Alias", list[ReadPath])


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Annotated[ReadPath, Field(min_length=1)], OUTSIDE),
        (Alias, [OUTSIDE]),
        (ReadPath | WritePath, OUTSIDE),
        (str | ReadPath, OUTSIDE),
        (int | list[TreePath], [OUTSIDE]),
        (tuple[ReadPath, ...], [".", OUTSIDE]),
        (list[list[ReadPath] | None], [None, [OUTSIDE]]),
        (Data, {"path": OUTSIDE}),
        (Keys, {"path": OUTSIDE}),
        (Tree, {"path": ".", "children": [{"path": ".", "children": [{"path": OUTSIDE}]}]}),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "dog", "path": OUTSIDE}),
        (Cat | Dog, {"kind": "cat", "path": OUTSIDE}),
        (Extra, {"anything": OUTSIDE}),
        (Aliased, {"from": OUTSIDE}),
    ],
)
async def test_path_types_are_found_behind_every_spelling(open_runtime, annotation, value):
    runs = []

    def own(at):
        runs.append(at)

    own.__annotations__ = {"at": annotation}
    async with open_runtime(mode="bypass") as rt:
        rt.register(handrail.tool(own))
        result = await rt.call("own", {"at": value})
        inside = await rt.call("own", json.dumps({"at": value}).replace(OUTSIDE, "in.txt"))

    assert result.problem.code == "outside_workspace", result.text
    assert inside.ok, inside.text
    assert f"{rt.session.roots[0]}/in.txt" in repr(runs[0])
    assert len(runs) == 1


@pytest.mark.finding("F01")
async def test_a_default_is_contained_like_what_is_given(open_runtime):
    class Inner(BaseModel):
        path: ReadPath = OUTSIDE

    @handrail.tool
    def direct(path: ReadPath = OUTSIDE) -> str:
        return path

    @handrail.tool
    def listed(paths: list[ReadPath] = [OUTSIDE]) -> str:  # noqa: B006 - the case at hand
        return str(paths)

    @handrail.tool
    def nested(inner: Inner = Inner()) -> str:  # noqa: B008 - the case at hand
        return str(inner)

    @handrail.tool
    def odd(paths: list[ReadPath] = {"a": OUTSIDE}) -> str:  # noqa: B006 - the case at hand
        return str(paths)

    async with open_runtime(mode="bypass") as rt:
        for own in (direct, listed, nested, odd):
            rt.register(own)
        codes = [(await rt.call(name)).problem.code for name in ("direct", "listed", "nested")]
        unfound = await rt.call("odd")

    assert codes == ["outside_workspace"] * 3
    assert unfound.problem.code == "internal"


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    "annotation",
    [
        set[ReadPath],
        frozenset[WritePath],
        dict[ReadPath, int],
        Annotated[list[str], handrail.core.paths.PathUse.READ],
        Annotated[ReadPath, PlainValidator(lambda value: value)],
        HiddenData,
        list[HiddenKeys],
        __import__("pathlib").Path,
        list[__import__("pathlib").Path],
        str | __import__("os").PathLike,
    ],
)
@pytest.mark.parametrize("form", ["class", "function"])
async def test_a_path_that_cannot_be_found_is_an_error_at_registration(
    open_runtime, form, annotation
):
    async with open_runtime() as rt:
        with pytest.raises(TypeError):
            if form == "function":

                def own(at):
                    return ""

                own.__annotations__ = {"at": annotation}
                rt.register(handrail.tool(own))
            else:

                class Own(handrail.Tool):
                    name = "own"
                    summary = "Runs."
                    effects = OPEN
                    params = create_model("OwnParams", __base__=Params, at=(annotation, ...))

                rt.register(Own())


@pytest.mark.finding("F01")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "integer", "x-handrail-path": "read"}}},
        {"properties": {"a": {"x-handrail-path": "read"}}},
        {"properties": {"a": {"type": "string", "x-handrail-path": "look"}}},
        {"patternProperties": {".*": {"type": "string", "x-handrail-path": "read"}}},
        {"allOf": [{"properties": {"a": {"type": "string", "x-handrail-path": "read"}}}]},
        {"properties": {"a": {"anyOf": [{"type": "string", "x-handrail-path": "read"}, {}]}}},
        {
            "properties": {"a": {"$ref": "#/$defs/n"}},
            "$defs": {
                "n": {
                    "type": "object",
                    "properties": {
                        "p": {"type": "string", "x-handrail-path": "read"},
                        "n": {"$ref": "#/$defs/n"},
                    },
                }
            },
        },
    ],
)
async def test_a_path_in_a_raw_schema_that_cannot_be_found_is_an_error(open_runtime, schema):
    class Own(handrail.Tool):
        name = "own"
        summary = "Runs."
        effects = READS
        params = None

    Own.raw_schema = {"type": "object", **schema}
    async with open_runtime() as rt:
        with pytest.raises(TypeError):
            rt.register(Own())


@pytest.mark.finding("F01")
async def test_a_raw_schema_is_shown_without_its_path_keyword(open_runtime):
    path = {"type": "string", "x-handrail-path": "read"}

    class Own(handrail.Tool):
        name = "own"
        summary = "Runs."
        effects = READS
        params = None

        async def run(self, args, ctx):
            return Output(" ".join(ctx.places))

    Own.raw_schema = {
        "type": "object",
        "properties": {"at": path, "x-handrail-path": {"type": "string"}},
        "additionalProperties": path,
    }

    async with open_runtime() as rt:
        rt.register(Own())
        [shown] = rt.declare("anthropic", allowed=["own"])
        found = await rt.call("own", {"at": "a", "x-handrail-path": "b", "more": "c"})
        outside = await rt.call("own", {"at": "a", "more": OUTSIDE})

    assert shown["input_schema"]["properties"] == {
        "at": {"type": "string"},
        "x-handrail-path": {"type": "string"},
    }
    assert found.text == "at ['more']"
    assert outside.problem.code == "outside_workspace"


@pytest.mark.finding("F01")
async def test_hook_programs_are_shown_nested_paths_as_they_lead(workspace, open_runtime):
    workspace.write("real/a", "a")
    (workspace.root / "link").symlink_to("real")

    class Edit(BaseModel):
        target: WritePath = Field(alias="to")

    @handrail.tool
    def own(edits: list[Edit], files: dict[str, ReadPath], copy: list[ReadPath]) -> str:
        return ""

    seen = []

    class Watching:
        async def before(self, call):
            from handrail.engine.hooking.hook_input import resolved_arguments

            seen.append((dict(call.paths), resolved_arguments(call, str)))

        async def after(self, call, result):
            return None

    async with open_runtime(mode="bypass") as rt:
        rt.hooks.append(Watching())
        rt.register(own)
        given = {"edits": [{"to": "link/a"}], "files": {"k.v": "link/a"}, "copy": ["./link/a"]}
        result = await rt.call("own", given)

    assert result.ok, result.text
    [(paths, shown)] = seen
    real = str(workspace.root / "real/a")
    assert paths == {"edits[0].to": real, "files['k.v']": real, "copy[0]": real}
    assert shown == {"edits": [{"to": real}], "files": {"k.v": real}, "copy": [real]}


@pytest.mark.finding("F01")
async def test_a_call_cannot_name_any_number_of_paths(open_runtime):
    @handrail.tool
    def own(paths: list[ReadPath]) -> str:
        return ""

    async with open_runtime() as rt:
        rt.register(own)
        result = await rt.call("own", {"paths": ["a"] * 10_001})

    assert result.problem.code == "too_large"


@pytest.mark.finding("F01")
async def test_every_built_in_tool_states_its_effects(open_runtime):
    async with open_runtime() as rt:
        tools = rt.registry.list_all()

    assert tools
    assert all("effects" in vars(type(tool)) for tool in tools)


@pytest.mark.finding("F01")
async def test_an_agent_that_may_not_change_files_does_not_through_a_tool_of_ones_own(open_runtime):
    ran = []

    @handrail.tool
    def writes(path: WritePath) -> str:
        ran.append(path)
        return ""

    @handrail.tool
    def anything() -> str:
        ran.append("anything")
        return ""

    @handrail.tool
    def reads(path: ReadPath) -> str:
        return "read"

    config = {"agents": {"looker": {"tools": ["*"], "policy": []}}}
    async with open_runtime(mode="bypass", config=config) as rt:
        for tool in (writes, anything, reads):
            rt.register(tool)
        codes = [
            (await rt.call(*call, agent="looker")).problem.code
            for call in (("writes", {"path": "a"}), ("anything", {}))
        ]
        read = await rt.call("reads", {"path": "a"}, agent="looker")

    assert codes == ["unknown_tool", "unknown_tool"]
    assert read.ok
    assert ran == []
