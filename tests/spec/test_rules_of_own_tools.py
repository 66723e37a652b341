"""Rules, grants and hooks that name a tool of one's own, registered before or after opening."""

import logging

import pytest

import handrail
import handrail.sync
from handrail import ProblemRaised, ReadPath, WritePath


def deploy_tool(runs, name="deploy"):
    @handrail.tool(name=name)
    def deploy() -> str:
        """Deploys."""
        runs.append(name)
        return "deployed"

    return deploy


def rules(**permissions):
    return {"permissions": permissions}


def notices(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "handrail"]


@pytest.mark.finding("F33")
@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
@pytest.mark.parametrize("when", ["at opening", "later"])
async def test_a_rule_about_a_tool_of_ones_own_takes_effect(open_runtime, caplog, effect, when):
    runs = []
    tool = deploy_tool(runs)
    wanted = {"allow": None, "ask": "needs_approval", "deny": "denied"}[effect]
    mode = "default" if effect == "allow" else "bypass"
    early = [tool] if when == "at opening" else []
    with caplog.at_level(logging.WARNING, "handrail"):
        async with open_runtime(mode=mode, config=rules(**{effect: ["deploy"]}), tools=early) as rt:
            if when == "later":
                rt.register(tool)
            result = await rt.call("deploy")

    assert (result.problem and result.problem.code) == wanted
    assert bool(runs) == (effect == "allow")
    told = [one for one in notices(caplog) if "no tool named 'deploy' is registered" in one]
    assert len(told) == (1 if when == "later" else 0)


@pytest.mark.finding("F33")
@pytest.mark.parametrize("when", ["at opening", "later"])
async def test_a_rule_with_a_pattern_binds_the_paths_of_ones_own_tool(open_runtime, when):
    @handrail.tool
    def store(targets: list[WritePath]) -> str:
        """Stores."""
        return "stored"

    config = rules(allow=["store(out/**)"], deny=["store(out/closed/**)"])
    async with open_runtime(
        mode="default", config=config, tools=[store] if when == "at opening" else []
    ) as rt:
        if when == "later":
            rt.register(store)
        codes = [
            one.problem and one.problem.code
            for one in [
                await rt.call("store", {"targets": targets})
                for targets in (["out/a", "out/b"], ["out/a", "b"], ["out/a", "out/closed/b"])
            ]
        ]

    assert codes == [None, "needs_approval", "denied"]


@pytest.mark.finding("F33")
async def test_a_rule_about_a_name_of_another_vocabulary_means_ones_own_tool(open_runtime):
    runs = []
    async with open_runtime(
        mode="bypass", config=rules(deny=["Bash"]), tools=[deploy_tool(runs, "Bash")]
    ) as rt:
        own = await rt.call("Bash")
        command = await rt.call("run_command", {"command": "true"})

    assert own.problem.code == "denied"
    assert runs == []
    assert command.problem is None or command.problem.code != "denied"


@pytest.mark.finding("F33")
async def test_a_misspelt_name_of_a_tool_is_refused_unless_a_tool_has_it(open_runtime):
    config = rules(deny=["read_files"])
    with pytest.raises(ProblemRaised, match="did you mean 'read_file'"):
        async with open_runtime(config=config):
            pass
    async with open_runtime(
        mode="bypass", config=config, tools=[deploy_tool([], "read_files")]
    ) as rt:
        result = await rt.call("read_files")

    assert result.problem.code == "denied"


@pytest.mark.finding("F33")
@pytest.mark.parametrize("rule", ["no such name", "(x)", "deploy(", "de ploy(x)", "1x", "a/b"])
async def test_what_can_be_no_tools_name_is_still_refused(open_runtime, rule):
    with pytest.raises(ProblemRaised, match="cannot be used"):
        async with open_runtime(config=rules(deny=[rule])):
            pass


@pytest.mark.finding("F33")
def test_the_synchronous_door_takes_tools_as_well(tmp_path):
    runs = []
    with handrail.sync.open(
        tmp_path, store=":memory:", config=rules(allow=["deploy"]), tools=[deploy_tool(runs)]
    ) as rt:
        result = rt.call("deploy")
        shown = [one["name"] for one in rt.declare("anthropic")]

    assert result.text == "deployed"
    assert "deploy" in shown


@pytest.mark.finding("F33")
async def test_what_cannot_be_registered_is_refused_before_anything_is_opened(tmp_path):
    def plain() -> str:
        return ""

    tool = deploy_tool([])
    for tools, error in (
        ([plain], TypeError),
        ([tool, tool], handrail.DuplicateToolError),
        ([deploy_tool([], "read_file")], handrail.DuplicateToolError),
    ):
        with pytest.raises(error):
            async with handrail.open(tmp_path, store=":memory:", tools=tools):
                pass


@pytest.mark.finding("F33")
async def test_an_exact_matcher_of_a_hook_may_name_ones_own_tool(open_runtime):
    hooks = {"pre_tool_use": [{"command": "exit 2", "matcher": "deploy"}]}
    runs = []
    async with open_runtime(
        mode="bypass", config={"hooks": hooks}, tools=[deploy_tool(runs)]
    ) as rt:
        result = await rt.call("deploy")

    assert result.problem.code == "blocked"
    assert runs == []


@pytest.mark.finding("F33")
async def test_a_grant_that_cannot_work_is_refused_with_the_reason(open_runtime):
    @handrail.tool(risk=handrail.Risk.DANGEROUS)
    def send(attachment: ReadPath) -> str:
        """Sends."""
        return "sent"

    @handrail.tool
    def store(target: WritePath) -> str:
        """Stores."""
        return "stored"

    tools = [deploy_tool([]), send, store]
    async with open_runtime(mode="default", config=rules(deny=["write_file"]), tools=tools) as rt:
        reasons = {}
        for tool, pattern in (
            ("nowhere", None),
            ("deploy", "src/**"),
            ("send", "src/**"),
            ("write_file", "src/a.py"),
        ):
            with pytest.raises(ProblemRaised) as raised:
                rt.grants.grant(tool, pattern)
            reasons[tool] = raised.value.problem.message
        assert rt.grants.active() == ()
        rt.grants.grant("deploy", None)
        rt.grants.grant("store", "src/**")
        deployed = await rt.call("deploy")
        stored = await rt.call("store", {"target": "src/a"})
        elsewhere = await rt.call("store", {"target": "a"})

    assert "no tool named 'nowhere'" in reasons["nowhere"]
    assert "no path arguments" in reasons["deploy"]
    assert "more than its paths show" in reasons["send"]
    assert '"deny write_file"' in reasons["write_file"]
    assert (deployed.ok, stored.ok, elsewhere.ok) == (True, True, False)


@pytest.mark.finding("F33")
async def test_an_allow_rule_that_can_cover_nothing_is_named(open_runtime, caplog):
    with caplog.at_level(logging.WARNING, "handrail"):
        async with open_runtime(
            config=rules(allow=["deploy(src/**)"]), tools=[deploy_tool([])]
        ) as rt:
            result = await rt.call("deploy")

    assert result.problem.code == "needs_approval"
    [told] = notices(caplog)
    assert "can allow nothing" in told


async def test_many_rules_about_tools_that_are_not_registered_are_one_line(open_runtime, caplog):
    deny = ["deploy", "stamp(secret/**)", "translate"]
    with caplog.at_level(logging.WARNING, "handrail"):
        async with open_runtime(config=rules(deny=deny)):
            pass

    (said,) = notices(caplog)
    assert "'deny deploy'" in said
    assert "2 more rules" in said
