"""The execute_code tool on its own; the stories are in tests/spec/test_commands.py."""

import pytest
from tests.support.shells import Recorded, context, shell

from handrail.core.commands import CommandClass
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools.commands.execute_code import ExecuteCode, ExecuteCodeParams


@pytest.mark.feature("E60")
async def test_each_language_has_its_program():
    processes = Recorded()
    tool = ExecuteCode(shell(processes, safety_class=CommandClass.DANGEROUS))
    for language in ("python", "bash"):
        await tool.run(ExecuteCodeParams(language=language, code="1"), context())

    python, bash = processes.launched
    assert python.argv == ("/usr/bin/python3", "-c", "1")
    assert bash.argv == ("/bin/bash", "--norc", "--noprofile", "-c", "1")
    assert python.cwd == "/w"
    assert python.timeout_s == 30


async def test_a_language_that_is_not_there_says_so():
    tool = ExecuteCode(shell(Recorded()))
    with pytest.raises(ProblemRaised) as caught:
        await tool.preflight(ExecuteCodeParams(language="node", code="1"), context())

    assert caught.value.problem.code == "unavailable"
    assert "node" in caught.value.problem.message


def test_code_is_dangerous_and_bash_is_what_it_says():
    tool = ExecuteCode(shell(Recorded(), safety_class=CommandClass.SAFE))

    python = tool.footprint(ExecuteCodeParams(language="python", code="print(1)"))
    assert python.open_ended
    assert tool.risk(ExecuteCodeParams(language="python", code="1")) is Risk.DANGEROUS
    assert tool.risk(ExecuteCodeParams(language="bash", code="ls")) is Risk.SAFE
