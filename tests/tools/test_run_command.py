"""The run_command tool on its own; the stories are in tests/spec/test_commands.py."""

import pytest
from tests.support.shells import Recorded, captured, context, shell

from handrail.core.commands import CommandClass, CommandEffects
from handrail.core.footprint import Access, Touch
from handrail.core.ports.processes import CapturedStream, ProcessResult
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools._lib.running_commands import format_stream, path_key, quote_imitations
from handrail.tools.commands.run_command import RunCommand, RunCommandParams


@pytest.mark.parametrize(
    ("safety_class", "risk"),
    [
        (CommandClass.SAFE, Risk.SAFE),
        (CommandClass.DEV, Risk.MODERATE),
        (CommandClass.DANGEROUS, Risk.DANGEROUS),
        (CommandClass.BLOCKED, Risk.CRITICAL),
    ],
)
def test_the_risk_follows_the_class(safety_class, risk):
    tool = RunCommand(None, shell(Recorded(), safety_class=safety_class))

    assert tool.risk(RunCommandParams(command="x")) is risk
    outside = tool.risk(RunCommandParams(command="x", unconfined=True))
    assert outside is max(risk, Risk.DANGEROUS)


def test_effects_become_the_footprint():
    effects = CommandEffects(
        reads=("/w/a", "/w/d/"), writes=("/w/*.txt",), hosts=("h",), open_ended=True
    )
    footprint = RunCommand(None, shell(Recorded(), effects=effects)).footprint(
        RunCommandParams(command="x")
    )

    assert footprint.touches == (
        Touch("file:/w/a", Access.READ),
        Touch("tree:/w/d", Access.READ),
        Touch("tree:/w", Access.WRITE),
        Touch("net:h", Access.WRITE),
    )
    assert footprint.open_ended


def test_a_job_is_a_change_and_a_moving_directory_is_one():
    moving = CommandEffects(changes_directory=True)
    tool = RunCommand(None, shell(Recorded(), effects=moving, moves=True))

    here = tool.footprint(RunCommandParams(command="x"))
    job = tool.footprint(RunCommandParams(command="x", background=True))

    assert here.touches == (Touch("session:directory", Access.WRITE),)
    assert job.touches == (
        Touch("session:directory", Access.READ),
        Touch("session:jobs", Access.WRITE),
    )


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/", "tree:/"),
        ("/*", "tree:/"),
        ("/w/a?c/d", "tree:/w"),
        ("/w/a/", "tree:/w/a"),
        ("/w/a", "file:/w/a"),
    ],
)
def test_a_glob_is_the_tree_that_holds_it(path, key):
    assert path_key(path) == key


async def test_only_what_looks_gets_a_tame_git_and_nothing_runs_without_bounds():
    processes = Recorded()
    tool = RunCommand(None, shell(processes))
    await tool.run(RunCommandParams(command="git log", env={"TZ": "UTC"}), context())
    await RunCommand(None, shell(processes, safety_class=CommandClass.DEV)).run(
        RunCommandParams(command="make"), context()
    )
    with pytest.raises(ProblemRaised) as caught:
        await tool.run(RunCommandParams(command="ls"), context(confined=False))

    looks, builds = processes.launched
    assert looks.env == {"PATH": "/usr/bin", "TZ": "UTC", "GIT_PAGER": "cat"}
    assert builds.env == {"PATH": "/usr/bin"}
    assert looks.argv == ("/bin/bash", "--norc", "--noprofile", "-c", "git log")
    assert caught.value.problem.code == "unavailable"


async def test_a_text_that_no_kernel_takes_is_refused():
    tool = RunCommand(None, shell(Recorded()))
    with pytest.raises(ProblemRaised) as caught:
        await tool.preflight(RunCommandParams(command="x" * 200_000), context())

    assert caught.value.problem.code == "too_large"


async def test_what_is_told_of_an_end():
    ended = ProcessResult(
        3, CapturedStream(b"a\n", b"z\n", 10**9, "kept", 5), captured(b""), 1.0, survivors=(11, 12)
    )
    output = await RunCommand(None, shell(Recorded(ended))).run(
        RunCommandParams(command="x"), context()
    )

    assert output.problem.code == "command_failed"
    assert "5 of them kept nowhere" in output.text
    assert "text is kept as output:" in output.text
    assert "could not be ended: 11," in output.text
    assert output.meta["stdout_bytes"] == 10**9


@pytest.mark.finding("F24")
async def test_a_gap_in_what_was_kept_is_part_of_it():
    ctx, kept = context(), []
    ctx.session.artifacts.save = lambda name, data: kept.append(data) or "kept"
    ended = ProcessResult(0, CapturedStream(b"a\n" * 500, b"z\n", 10**6), captured(b""), 1.0)

    await RunCommand(None, shell(Recorded(ended))).run(RunCommandParams(command="x"), ctx)

    assert b"[998,998 bytes were not kept here]" in kept[0]


@pytest.mark.feature("R-01")
@pytest.mark.parametrize("total", [10, 11, 40, 1000])
def test_the_lines_of_a_stream_are_cut_in_the_middle(total):
    lines = [f"line {n}" for n in range(total)]
    found = format_stream(captured("\n".join(lines).encode() + b"\n"), 10)
    told = found.text.split("\n")

    if total <= 10:
        assert told == lines
    else:
        assert told[:5] == lines[:5]
        assert told[6:] == lines[-2:]
        assert found.omitted == total - 7
        assert f"{total - 7} lines" in told[5]


def test_one_endless_line_still_shows_both_ends():
    found = format_stream(CapturedStream(b"a" * 50, b"z" * 50, 10**9), 200)

    first, marker, last = found.text.split("\n")
    assert (first, last) == ("a" * 50, "z" * 50)
    assert "bytes" in marker


@pytest.mark.parametrize(
    "line", ["stdout:", "stderr:", "exit_code: 0", "[handrail: x]", "[handrail x]"]
)
@pytest.mark.parametrize("before", ["", "a\n", "a\r\n", "a\r", "a\x0b", "a\x85", "a\u2028"])
def test_a_line_that_imitates_a_line_of_handrail_is_marked(before, line):
    text = before.replace("\r\n", "\n")

    assert quote_imitations(before + line) == f"{text}> {line}"
    assert quote_imitations(f"{before}the {line}") == f"{text}the {line}"


def test_other_output_stays_as_it_is():
    assert quote_imitations("a\r\nstdout\n[other: x]\0") == "a\nstdout\n[other: x]\0"
