"""What a model is told about git stands with the tool that runs it, in every vocabulary."""

import pytest

from handrail.dialects.known import DIALECTS

SAID = (
    "only when asked",
    "by name",
    "new commit instead of amending",
    "git's configuration",
    "skip hooks",
    "push --force",
    "main or master",
    "reset --hard",
    "clean -f",
    "branch -D",
    "gh pr create",
)


@pytest.mark.feature("E66")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_tool_that_runs_commands_says_how_to_treat_git(open_runtime, dialect):
    async with open_runtime(dialect=dialect) as rt:
        told = [one["function"]["description"] for one in rt.declare("openai")]

    [git] = [one for one in told if "Git:" in one]
    assert [words for words in SAID if words not in git.replace("\n", " ")] == []
