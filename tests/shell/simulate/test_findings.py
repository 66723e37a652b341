"""What a simulated command runs from files."""

from handrail.shell.simulate.findings import SimulationFindings
from handrail.shell.simulate.shell_state import DOWNLOADED, ShellState


def test_a_file_that_is_run_is_code_or_a_download():
    state = ShellState("/w", "/home/u")
    state.write("a", "code")
    state.write("b", DOWNLOADED)
    findings = SimulationFindings()

    findings.run_files(["a", "b", "c", ""], "x", state)
    findings.load_files({"LD_PRELOAD": "/w/b", "HOME": "/w/b"}, "y", state)

    assert findings.codes == [("code", "x")]
    assert findings.remote == ["x", "y"]


def test_a_program_from_another_machine():
    findings = SimulationFindings()

    findings.start_program(DOWNLOADED, {}, "x", ShellState("/w", "/home/u"))
    findings.start_program("ls", {}, "y", ShellState("/w", "/home/u"))

    assert findings.remote == ["x"]


def test_code_that_another_program_runs_when_it_starts():
    findings = SimulationFindings()

    assert findings.start_later("/home/u/.vimrc", "!date") == ["date"]
    assert findings.start_later("/home/u/x", "!date") == []
    assert findings.codes == [("!date", "/home/u/.vimrc")]
