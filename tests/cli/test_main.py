import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from handrail.cli.main import main


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"handrail {handrail.__version__}\n"


def test_the_version_is_told_without_loading_a_parser_or_the_engine():
    code = "import sys; from handrail.cli.main import main; main(['-V']); print(*sys.modules)"

    loaded = output_of(sys.executable, "-c", code).split()

    assert {"argparse", "pydantic", "asyncio", "json", "sqlite3"} & set(loaded) == set()


def test_help_does_not_load_the_engine():
    code = "import sys; from handrail.cli.main import main; main(['--help']); print(*sys.modules)"

    loaded = output_of(sys.executable, "-c", code).split()

    assert {"pydantic", "asyncio", "sqlite3"} & set(loaded) == set()


def test_the_installed_script_is_this_command_line(workspace):
    program = str(Path(sys.executable).with_name("handrail"))

    assert output_of(program, "call", "read_file", "path=a.txt") == "one\ntwo\n"


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_command_loads_only_its_own_module():
    code = (
        "import sys; from handrail.cli.main import main; main(['log', '--limit', '1']); "
        "print(*(name for name in sys.modules if name.startswith('handrail.cli.commands.')))"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()[-1]

    commands = {name for name in loaded.split() if name.count(".") == 4}
    assert commands == {
        "handrail.cli.commands.record.log",
        "handrail.cli.commands.record.file_log",
    }


@pytest.mark.finding("F39")
def test_the_package_can_be_run(workspace):
    done = subprocess.run(
        [sys.executable, "-m", "handrail", "call", "read_file", "path=missing.txt"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("not_found: ")
