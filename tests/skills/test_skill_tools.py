"""Tools that skills define: dispatched after all others, run as judged commands."""

import json
import os
import shlex
import subprocess

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.skills import folders
from handrail.skills.folders import FolderCache, read_folder
from handrail.skills.templates import read_templates
from handrail.testing import FakeProvider, calls, says

SHOW = """tool_defs:
  - name: show_note
    description: Shows a note
    cmd: cat {{file}}
    args:
      file: {type: string, description: the note}
"""


def template(cmd, **args):
    given = {"name": "do_it", "description": "does it", "cmd": cmd, "args": args}
    return read_templates([given])[0]


@pytest.mark.feature("C13", "C20", "O01", "O03", "R-10")
async def test_a_tool_of_a_skill_runs_its_command(root, add_skill):
    add_skill(user=True, frontmatter=SHOW)
    root.joinpath("a note.txt").write_text("remember\n")

    async with handrail.open(root, store=":memory:") as rt:
        result = await rt.call("show_note", {"file": "a note.txt"})
        unknown = await rt.call("show_not", {"file": "x"})
        missing = await rt.call("show_note", {})

    assert "remember" in result.text
    assert unknown.problem.code == "unknown_tool"
    assert missing.problem.code == "invalid_arguments"


@pytest.mark.feature("C13")
async def test_no_tool_of_a_skill_takes_the_name_of_another(root, add_skill):
    add_skill("one", user=True, frontmatter=SHOW.replace("show_note", "read_file"))
    add_skill("two", user=True, frontmatter=SHOW.replace("show_note", "bash"))
    add_skill("three", user=True, frontmatter=SHOW.replace("show_note", "my_tool"))

    @handrail.tool(reads_only=True)
    def my_tool(file: str) -> str:
        """Mine."""
        return "mine"

    async with handrail.open(root, store=":memory:", tools=[my_tool]) as rt:
        result = await rt.call("my_tool", {"file": "x"})
        states = {one.name: one.problem for one in rt.agent_services.skills.value.list()}

    assert result.text == "mine"
    assert all("reserved" in problem for problem in states.values())


@pytest.mark.feature("O01")
async def test_a_model_that_may_load_skills_may_call_their_tools(root, add_skill):
    add_skill(user=True, frontmatter=SHOW)
    root.joinpath("a.txt").write_text("remember\n")
    replies = [calls("skill", name="greet"), calls("show_note", file="a.txt"), says("done")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(root, model=model) as rt:
            await rt.agent(allowed=["skill"]).run("Greet")
        await model.aclose()

    first, _, last = (json.dumps(one.body) for one in provider.requests)
    assert "show_note" not in first
    assert "remember" in last


@pytest.mark.threat("A32")
@pytest.mark.parametrize(
    "value",
    [
        "$(touch pwned)",
        "x; touch pwned",
        "`touch pwned`",
        "a\ntouch pwned",
        "'; touch pwned; '",
        '"$(touch pwned)"',
    ],
)
async def test_a_value_is_one_word_of_the_command_whatever_it_contains(root, add_skill, value):
    add_skill(user=True, frontmatter=SHOW.replace("cat {{file}}", "printf '[%s]' {{file}}"))

    async with handrail.open(root, store=":memory:", approver=lambda request: True) as rt:
        result = await rt.call("show_note", {"file": value})

    assert f"[{value}]" in result.text
    assert not root.joinpath("pwned").exists()


@pytest.mark.threat("A32")
async def test_a_value_is_no_option_unless_the_template_ends_the_options(root, add_skill):
    add_skill("one", user=True, frontmatter=SHOW)
    ended = SHOW.replace("cat {{", "cat -- {{").replace("show_note", "show_any")
    add_skill("two", user=True, frontmatter=ended)
    root.joinpath("-n").write_text("dash\n")

    async with handrail.open(root, store=":memory:") as rt:
        option = await rt.call("show_note", {"file": "-n"})
        file = await rt.call("show_any", {"file": "-n"})

    assert option.problem.code == "invalid_arguments"
    assert "dash" in file.text


@pytest.mark.threat("A32")
@pytest.mark.parametrize(
    "command",
    [
        "echo '{{x}}'",
        'echo "{{x}}"',
        'echo "a {{x}}"',
        "echo a{{x}}",
        "echo $(cat {{x}} )",
        "cat <<END\n{{x}}\nEND",
        "echo ` {{x}} `",
        "(( {{x}} ))",
        "[[ 1 -eq {{x}} ]]",
        "eval {{x}}",
        "true # {{x}}",
        "echo {{y}}",
        "echo {{x} }",
        "echo \\\\{{x}}",
        "echo 'open {{x}}",
    ],
)
def test_templates_that_would_paste_a_value_are_refused(command):
    with pytest.raises(ValueError, match="do_it"):
        template(command, x={"type": "string"})


@pytest.mark.threat("A32")
async def test_the_expanded_command_is_judged_like_any_other(root, add_skill):
    add_skill(user=True, frontmatter=SHOW.replace("cat {{", "rm -rf {{"))

    async with handrail.open(root, store=":memory:", mode="bypass", approver=None) as rt:
        blocked = await rt.call("show_note", {"file": "/"})
    async with handrail.open(
        root, store=":memory:", config={"permissions": {"deny": ["run_command"]}}
    ) as rt:
        denied = await rt.call("show_note", {"file": "x"})

    assert blocked.problem.code == "blocked"
    assert denied.problem.code == "denied"


@pytest.mark.threat("A30")
async def test_a_skill_that_changed_loses_its_tools(root, add_skill, trust):
    folder = add_skill(frontmatter=SHOW)
    trust(folder)
    root.joinpath("a.txt").write_text("x\n")

    async with handrail.open(root, store=":memory:") as rt:
        before = await rt.call("show_note", {"file": "a.txt"})
        folder.joinpath("extra.sh").write_text("echo\n")
        after = await rt.call("show_note", {"file": "a.txt"})
    async with handrail.open(root, store=":memory:") as rt:
        gone = await rt.call("show_note", {"file": "a.txt"})

    assert (before.ok, after.problem.code, gone.problem.code) == (True, "untrusted", "unknown_tool")


async def test_a_script_beside_the_skill_runs(root, add_skill, trust):
    command = "sh $SKILL_DIR/say.sh {{file}}"
    folder = add_skill(frontmatter=SHOW.replace("cat {{file}}", command))
    folder.joinpath("say.sh").write_text('echo "said $1"\n')
    trust(folder)

    async with handrail.open(root, store=":memory:", approver=lambda request: True) as rt:
        result = await rt.call("show_note", {"file": "it"})

    assert "said it" in result.text


def test_values_of_each_type_and_the_folder():
    args = {
        "n": {"type": "integer"},
        "b": {"type": "boolean", "default": True},
        "s": {"type": "string", "default": "a b"},
    }
    one = template("$SKILL_DIR/run ${SKILL_DIR} {{n}} {{ b }} {{s}}", **args)

    assert (
        one.expand({"n": -3}, "/my skills/x") == "'/my skills/x'/run '/my skills/x' -3 true 'a b'"
    )
    assert one.schema()["required"] == ["n"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x"},
        {"name": "Bad", "description": "x", "cmd": "x"},
        {"name": "good", "description": "x", "cmd": "x", "timeout_ms": 700_000},
        {"name": "good", "description": "x", "cmd": "x", "args": {"a": {"type": "array"}}},
        {"name": "good", "description": "x", "cmd": "x", "args": {"a": {"default": 1}}},
        {"name": "good", "description": "x", "cmd": "x", "shell": "zsh"},
    ],
)
def test_definitions_that_are_wrong_are_refused(wrong):
    with pytest.raises(ValueError):
        read_templates([wrong])


@pytest.mark.threat("A32")
class TestExpansion:
    def expand(self, cmd, folder="/skills/one", **values):
        return template(cmd, **{name: {} for name in values}).expand(values, folder)

    def test_a_folder_is_never_read_as_a_part_of_the_template(self):
        made = self.expand("run $SKILL_DIR {{a}}", "/x/{{a}} -- /y", a="v")

        assert shlex.split(made) == ["run", "/x/{{a}} -- /y", "v"]

    def test_dashes_in_the_name_of_a_folder_do_not_end_the_options(self):
        with pytest.raises(ValueError, match="option"):
            self.expand("run $SKILL_DIR {{a}}", "/x -- /y", a="-rf")

    def test_only_the_same_command_ends_its_options(self):
        assert shlex.split(self.expand("a -- {{a}}", a="-rf"))[-1] == "-rf"
        for cmd in ("a -- x; b {{a}}", "a -- x | b {{a}}", "a '; -- ' {{a}}", "echo ' -- ' {{a}}"):
            with pytest.raises(ValueError, match="option"):
                self.expand(cmd, a="-rf")

    @pytest.mark.parametrize("folder", ["/a b", "/a$(id)", "/a`id`", '/a"b', "/a\\b", "/a'b"])
    @pytest.mark.parametrize("cmd", ["printf %s $SKILL_DIR/f", 'printf %s "${SKILL_DIR}/f"'])
    def test_a_folder_is_one_word_inside_and_outside_of_quotes(self, cmd, folder):
        done = subprocess.run(
            ["/bin/sh", "-c", self.expand(cmd, folder)], capture_output=True, check=True, timeout=10
        )

        assert done.stdout.decode() == f"{folder}/f"


def change(path, act):
    """Act until the clock of the file system has moved on."""
    before = path.stat().st_ctime_ns
    act()
    while path.stat().st_ctime_ns == before:
        act()


def test_a_folder_is_read_again_only_after_a_change(add_skill, monkeypatch):
    place = add_skill(user=True)
    script = place / "run.sh"
    script.write_text("one")
    for path in (script, place / "SKILL.md", place):
        os.utime(path)
    reads = []
    monkeypatch.setattr(
        folders, "read_folder", lambda *given: reads.append(given) or read_folder(*given)
    )
    monkeypatch.setattr(folders, "is_settled", lambda _: True)
    cache = FolderCache(64_000)
    first = [cache.read(place), cache.read(place)]
    change(script, lambda: script.write_text("two"))
    changed = cache.read(place)
    change(script, lambda: script.chmod(0o755))
    again = cache.read(place)

    assert len(reads) == 3
    assert first[0] == first[1]
    assert len({first[0].digest, changed.digest, again.digest}) == 3


def test_a_folder_that_has_just_changed_is_always_read(add_skill):
    place = add_skill(user=True)
    cache = FolderCache(64_000)
    before = cache.read(place).digest
    (place / "SKILL.md").write_text((place / "SKILL.md").read_text() + "more\n")

    assert cache.read(place).digest != before
