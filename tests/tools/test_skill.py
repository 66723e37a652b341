"""What the tool `skill` makes of a skill; finding and trusting skills is in tests/skills."""

from handrail.core.ports.skills import LoadedSkill
from handrail.tools.session.skill import format_skill


def test_the_instructions_come_with_folder_tools_and_arguments():
    skill = LoadedSkill("greet", "Say hello.", "f" * 64, "/s/greet", ("count_lines",), ("Bash(*)",))

    lines = format_skill(skill, " Ada ").splitlines()

    assert lines[0].endswith("/s/greet:")
    assert "count_lines" in lines[1]
    assert "Bash(*)" in lines[2]
    assert lines[-3:] == ["Say hello.", "", "Arguments: Ada"]
