"""In CI a test that does not run is a failure: nothing may be missing unseen."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

BODIES = {
    "test_skip.py": "import pytest\ndef test_one():\n    pytest.skip('no such machine')\n",
    "test_xfail.py": "import pytest\n@pytest.mark.xfail\ndef test_one():\n    assert False\n",
    "test_module.py": "import pytest\npytest.skip('no module', allow_module_level=True)\n",
}


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "workers"])
def test_a_skip_fails_the_run_in_ci_only(tmp_path, workers):
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    for name, body in BODIES.items():
        (tmp_path / name).write_text(body)

    inside = run(tmp_path, {"CI": "true"}, workers)
    outside = run(tmp_path, {}, workers)

    assert inside.startswith("2 failed, 1 error in ")
    assert outside.startswith("2 skipped, 1 xfailed in ")


def run(folder: Path, extra: dict[str, str], workers: list[str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", *workers]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "."],
        cwd=folder,
        env=environment | extra,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.rstrip().splitlines()[-1]
