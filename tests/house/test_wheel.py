"""What a stranger gets: the built wheel, alone in a new environment, does what the README says."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import anyio
import pytest

# Builds, checkers and the code of whole pages run here; their own limits end them earlier.
pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).resolve().parents[2]
DEMO_DEADLINE_S = 30


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    constrained = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    run([sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], env=constrained)
    return next(folder.glob("handrail-*.whl"))


async def test_the_wheel_alone_runs_the_demo_and_the_readme(wheel, tmp_path):
    programs = install(wheel, tmp_path / "fresh")

    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    with anyio.fail_after(DEMO_DEADLINE_S):
        done = await anyio.run_process(
            [programs / "handrail", "demo"], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL
        )
    assert b"read_file" in done.stdout

    run([sys.executable, ROOT / "scripts/run_blocks.py", "--bin", programs, ROOT / "README.md"])


def test_the_wheel_carries_prose_schema_types_and_nothing_of_the_repository(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    source = ROOT / "src"

    shipped = {name for name in names if name.startswith("handrail/")}

    assert {name.split("/")[0] for name in names} == {"handrail", "handrail-0.2.0.dist-info"}
    assert shipped == {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def install(wheel: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run([python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel])
    return folder / "bin"


def run(command: list[object], **options: object) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
