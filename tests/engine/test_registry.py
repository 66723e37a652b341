"""Which tools there are, and what may not be replaced."""

import pytest

import handrail
from handrail import DuplicateToolError, Group, Output, Registry, Risk, ToolNotFoundError
from handrail.engine.registry import ToolOrigin


def named(name, group=Group.META, summary="Does something."):
    class Named(handrail.Tool):
        effects = handrail.Effects.PURE

        class params(handrail.Params):
            text: str = ""

        async def run(self, args, ctx):
            return Output(args.text)

    tool = Named()
    tool.name, tool.group, tool.summary = name, group, summary
    return tool


@pytest.mark.feature("A01", "C01")
def test_a_name_is_unique_unless_overriding_is_asked_for():
    registry = Registry()
    first, second = named("one"), named("one")
    registry.register(first)

    with pytest.raises(DuplicateToolError, match="one"):
        registry.register(second)
    registry.register(second, allow_override=True)

    assert registry.get("one") is second


@pytest.mark.feature("C01")
def test_a_built_in_is_never_replaced():
    registry = Registry()
    builtin = named("read_file")
    registry.register(builtin, origin=ToolOrigin.BUILTIN)

    with pytest.raises(DuplicateToolError, match="built in"):
        registry.register(named("read_file"), allow_override=True)

    assert registry.get("read_file") is builtin


@pytest.mark.feature("C02", "C03")
def test_a_removed_tool_is_gone():
    registry = Registry.of([named("one")])
    registry.unregister("one")

    assert registry.find("one") is None
    with pytest.raises(ToolNotFoundError):
        registry.get("one")
    with pytest.raises(ToolNotFoundError):
        registry.unregister("one")


@pytest.mark.feature("C04", "C06", "C07", "C08")
def test_tools_are_listed_by_name_filtered_and_counted():
    tools = [named("b", Group.SEARCH), named("a", Group.EDIT), named("c", Group.SEARCH)]
    registry = Registry.of(tools)
    chosen = registry.filter_by_names(["c", "nowhere"])

    assert [tool.name for tool in registry.list_all()] == ["a", "b", "c"]
    assert [tool.name for tool in registry.list_all(groups=["search"])] == ["b", "c"]
    assert [tool.name for tool in chosen.list_all()] == ["c"]
    assert (registry.has_tool("a"), registry.has_tool("z"), registry.count()) == (True, False, 3)
    assert registry.entry("a").arguments.schema["properties"]["text"]["type"] == "string"
    registry.clear()
    assert registry.count() == 0


@pytest.mark.feature("A11")
def test_groups_are_a_closed_list():
    assert {"search", "edit", "exec", "subtask"} <= set(Group)
    with pytest.raises(ValueError, match="cooking"):
        Registry.of([named("one", "cooking")])
    with pytest.raises(ValueError, match="cooking"):
        Registry().list_all(groups=["cooking"])


@pytest.mark.feature("A05")
def test_arguments_are_declared_in_exactly_one_way():
    raw = named("raw")
    type(raw).params = None
    raw.raw_schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
    }
    both = named("both")
    both.raw_schema = {"type": "object"}
    registry = Registry.of([raw])
    Registry.of([raw])

    assert registry.entry("raw").arguments.validate({"count": 3}).count == 3
    assert raw.validate_args({"count": 4}).count == 4
    with pytest.raises(TypeError, match="either params or raw_schema"):
        registry.register(both)


@pytest.mark.feature("A18")
def test_arguments_can_be_checked_without_a_call():
    tool = named("one")

    assert tool.validate_args({"text": "x"}).text == "x"
    with pytest.raises(ValueError, match="text"):
        tool.validate_args({"text": 5})


@pytest.mark.feature("A07", "A08", "A09", "A10")
async def test_risk_is_one_ladder_from_the_tool_or_from_the_arguments(tmp_path):
    class Varying(handrail.Tool):
        name = "varying"
        summary = "As dangerous as it is told."
        effects = handrail.Effects.OPEN_ENDED

        class params(handrail.Params):
            level: int

        def footprint(self, args):
            return handrail.Footprint(open_ended=True)

        def risk(self, args):
            return Risk(args.level)

        async def run(self, args, ctx):
            return Output("ran")

    asked = []

    def approver(request):
        asked.append(request.risk.word)
        return True

    for mode in ("default", "auto-safe"):
        async with handrail.open(tmp_path, store=":memory:", mode=mode, approver=approver) as rt:
            rt.register(Varying())
            for level in (1, 2):
                assert (await rt.call("varying", {"level": level})).ok
            risks = [one.requested["risk"] for one in await rt.store.calls(limit=5)]

    assert asked == ["moderate", "dangerous", "dangerous"]
    assert risks == ["dangerous", "moderate"]
    assert [risk.sensitive for risk in Risk] == [False, True, True, True]


@pytest.mark.feature("A21")
async def test_a_tool_may_say_how_its_call_and_result_are_shown_to_a_person(tmp_path):
    class Polite(handrail.Tool):
        name = "polite"
        summary = "Shows itself well."
        effects = handrail.Effects.OPEN_ENDED

        class params(handrail.Params):
            pass

        def footprint(self, args):
            return handrail.Footprint(open_ended=True)

        def render_call(self, args):
            return "May I?"

        async def run(self, args, ctx):
            return Output("for the model", display="for the person")

    shown = []

    async with handrail.open(
        tmp_path, store=":memory:", approver=lambda request: shown.append(request.action) or True
    ) as rt:
        rt.register(Polite())
        result = await rt.call("polite")

    assert shown == ["May I?"]
    assert (result.text, result.display) == ("for the model", "for the person")


@pytest.mark.parametrize("name", ["two words", "a.b", "", "1st", "x" * 65, None])
def test_a_name_that_providers_reject_is_an_error(name):
    with pytest.raises(TypeError, match="cannot be the name of a tool"):
        Registry().register(named(name))


def test_a_class_in_place_of_an_instance_is_said_to_be_one():
    with pytest.raises(TypeError, match=r"Named is a class.*Named\(\)"):
        Registry().register(type(named("one")))


def test_one_tool_in_place_of_a_list_of_tools_is_an_error(tmp_path):
    with pytest.raises(TypeError, match="tools is a list"):
        handrail.open(tmp_path, store=":memory:", tools=named("one"))


@pytest.mark.finding("F59")
@pytest.mark.feature("A07", "A19", "C05")
def test_schemas_are_listed_by_name_and_unknown_names_are_left_out():
    @handrail.tool(reads_only=True)
    def look(word: str) -> str:
        """Looks a word up."""
        return word

    @handrail.tool(effects=handrail.Effects.OPEN_ENDED)
    def act() -> str:
        """Does something."""
        return ""

    registry = Registry.of([look, act])
    [schema] = registry.get_schemas(["look", "nobody"])

    assert schema["type"] == "function"
    assert schema["function"]["name"] == "look"
    assert list(schema["function"]["parameters"]["properties"]) == ["word"]
    assert registry.missing(["look", "nobody"]) == ["nobody"]
    assert [one["function"]["name"] for one in registry.get_schemas()] == ["act", "look"]
    assert registry.get_schemas([]) == []
    assert (registry.get("look").sensitive, registry.get("act").sensitive) == (False, True)
