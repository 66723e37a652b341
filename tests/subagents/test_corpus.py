"""The corpora of paths and commands through agents that must not change files, in every mode."""

import itertools
import json
import re

import pytest
from tests.subagents.conftest import calls, main_agent
from tests.support.layout import build_layout, corpus

import handrail
from handrail.host.supervisor.client import SupervisedProcesses

READ_ONLY = ("explore", "review", "plan", "test")
MODES = (
    *("default", "confirm-all", "accept-edits", "sandboxed", "auto-safe", "strict", "plan"),
    *("dont-ask", "bypass"),
)
ROWS = [*corpus("paths_escape.jsonl"), *corpus("paths_ok.jsonl")]
# How a file is changed, and how a path leads to one.
WAYS = {
    "write": lambda path: ("write_file", {"path": path, "content": "CHANGED"}),
    "append": lambda path: ("write_file", {"path": path, "content": "X", "mode": "append"}),
    "edit": lambda path: ("edit_file", {"path": path, "old_string": "", "new_string": "CHANGED"}),
    "patch": lambda path: (
        "apply_patch",
        {"patch": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"},
    ),
    "delete": lambda path: ("delete_file", {"path": path}),
    "move": lambda path: ("move_file", {"source": path, "destination": "moved.txt"}),
}
# Each step of an agent makes so many calls, and a read-only agent has 15 steps.
PER_STEP = 20


def path_cases(layout):
    """At least 200 calls that would change a file."""
    ways = itertools.cycle(WAYS.values())
    rows = [*ROWS, *ROWS]
    return [next(ways)(layout.path_of(row)) for row in rows]


def steps(cases):
    """Messages with the calls, as many as an agent may send."""
    return [calls(*cases[at : at + PER_STEP]) for at in range(0, len(cases), PER_STEP)]


def contents(layout):
    """Every file and link of the workspace and around it."""
    found = layout.outside()
    for path in sorted(layout.work.rglob("*")):
        if path.is_symlink():
            found[str(path)] = str(path.readlink())
        elif path.is_file():
            found[str(path)] = path.read_bytes().hex() if path.stat().st_size < 10_000 else "large"
        elif path.is_dir():
            found[str(path)] = "folder"
    return found


def direct(agents, messages):
    """Children of the main agent make the calls."""
    return [_starting(agents), {"text": "end"}, *_tried(agents, messages)]


def below(agents, messages):
    """Children of a child that may write make them."""
    return [
        calls(("subagent", {"task": "Let others", "agent": "general"})),
        {"text": "end"},
        {"agent": "general"},
        _starting(agents),
        {"text": "ended"},
        *_tried(agents, messages),
    ]


def _starting(agents):
    asked = {"task": "Change it", "tools": ["*"]}
    return calls(*(("subagent", {**asked, "agent": agent}) for agent in agents))


def _tried(agents, messages):
    return [line for one in agents for line in ({"agent": one}, *messages, {"text": "tried"})]


async def attempt(layout, tmp_path, lines, mode):
    """Run a script; returns the reports of the agents, deepest last."""
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in lines))
    settings = {"mode": mode, "allow_delete": True, "store": ":memory:"}
    async with handrail.open(
        layout.work,
        model=f"script:{script}",
        approver=lambda request: True,
        config={"loop_guard": "off"},
        **settings,
    ) as rt:
        result = await main_agent(rt).run("Go")
    reports, found = [*result.report.children], []
    while reports:
        found.append(reports.pop())
        reports += found[-1].children
    return found


async def check_paths(tmp_path, mode, lineage, share):
    base = tmp_path / "base"
    base.mkdir()
    layout = build_layout(base)
    cases = path_cases(layout)[::share]
    before = contents(layout)
    reports = await attempt(layout, tmp_path, lineage(READ_ONLY, steps(cases)), mode)

    assert contents(layout) == before
    assert all(one.changes == () for one in reports)
    refused = {one.agent.partition("-")[0]: len(one.refused) for one in reports}
    assert {one: refused[one] for one in READ_ONLY} == dict.fromkeys(READ_ONLY, len(cases))


@pytest.mark.feature("P03")
@pytest.mark.threat("A29")
@pytest.mark.parametrize("mode", MODES)
async def test_a_share_of_the_paths_changes_nothing(tmp_path, mode):
    lineage = (direct, below)[MODES.index(mode) % 2]
    await check_paths(tmp_path, mode, lineage, share=11)


@pytest.mark.torture
@pytest.mark.feature("P03")
@pytest.mark.parametrize("lineage", [direct, below], ids=["direct", "below"])
@pytest.mark.parametrize("mode", MODES)
async def test_no_path_changes_anything(tmp_path, mode, lineage):
    assert len(ROWS) * 2 >= 200
    await check_paths(tmp_path, mode, lineage, share=1)


COMMANDS = [
    row["command"]
    for name in ("blocked.jsonl", "commands_dangerous.jsonl")
    for row in corpus(name)
    # Longer ones do not fit into a call.
    if len(row["command"]) < 5_000
]


class LaunchLog:
    """What agents start. A program is run once; started again in exactly the same way, by another
    agent or in another mode, it ends as it did before.
    """

    def __init__(self, base):
        self._base = str(base)
        self._ended = {}
        self.started = 0

    @property
    def distinct(self):
        """How many programs were run."""
        return len(self._ended)

    def install(self, monkeypatch):
        run = SupervisedProcesses.run

        async def run_once(processes, launch, on_output=None):
            self.started += 1
            self._check(launch.confinement)
            key = self._key(launch)
            if key not in self._ended:
                self._ended[key] = await run(processes, launch, on_output)
            return self._ended[key]

        monkeypatch.setattr(SupervisedProcesses, "run", run_once)

    def _check(self, confinement):
        """Nothing of the workspace is writable, but a copy that is shown in its place."""
        assert not confinement.off
        assert confinement.writable == ()
        assert all(not one.path.startswith(self._base) for one in confinement.copies)

    def _key(self, launch):
        """The launch without the names that differ each time: of temporary directories."""
        confinement = launch.confinement
        copies = tuple(one._replace(path="") for one in confinement.copies)
        plain = confinement._replace(copies=copies, write_log=bool(confinement.write_log))
        return re.sub(r"handrail-[\w-]+", "", repr(launch._replace(confinement=plain)))


async def check_commands(layout, tmp_path, commands, mode, lineage, agents=READ_ONLY):
    before = contents(layout)
    made = [("run_command", {"command": one, "timeout_s": 2}) for one in commands]
    # An agent has so many steps.
    for at in range(0, len(made), PER_STEP * 10):
        part = made[at : at + PER_STEP * 10]
        reports = await attempt(layout, tmp_path, lineage(agents, steps(part)), mode)
        where = f"{mode}, {lineage.__name__}: one of commands {at} to {at + len(part)}"
        assert len(reports) >= len(agents), where
        assert all(one.changes == () for one in reports), where
        assert contents(layout) == before, where


@pytest.fixture
def layout(tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    return build_layout(base)


@pytest.mark.needs_bubblewrap
@pytest.mark.feature("P03")
@pytest.mark.threat("A28")
async def test_a_share_of_the_commands_changes_nothing(layout, tmp_path):
    await check_commands(layout, tmp_path, COMMANDS[::25], "bypass", direct, ["test"])


@pytest.mark.torture
@pytest.mark.timeout(3_000)
@pytest.mark.needs_bubblewrap
@pytest.mark.feature("P03")
@pytest.mark.threat("A28")
async def test_no_command_changes_anything(layout, tmp_path, monkeypatch):
    """Every command by every agent that only reads, and by one below another, in every mode."""
    log = LaunchLog(layout.base)
    log.install(monkeypatch)
    for mode, lineage in itertools.product(MODES, (direct, below)):
        await check_commands(layout, tmp_path, COMMANDS, mode, lineage)
        print(f"{mode}, {lineage.__name__}: {log.started} started, {log.distinct} run")

    # Most commands of a test agent run, and in each mode.
    assert log.started > log.distinct > len(COMMANDS) // 4
