"""The gate's search for the newest Python on a machine."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "newest_python.py"


def load_script():
    spec = importlib.util.spec_from_file_location("newest_python", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def install(folder, version, answer, *, code=0):
    program = folder / "versions" / version / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{answer}'\nexit {code}\n")
    program.chmod(0o755)
    return str(program)


def test_the_newest_release_above_the_current_version_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    script = load_script()
    assert script.newest(script.candidates(), (3, 11)) is None

    install(tmp_path, "3.11.9", "3 11 9 final CPython")
    newest = install(tmp_path, "3.40.0", "3 40 0 final CPython")
    install(tmp_path, "3.9.18", "3 9 18 final CPython")
    install(tmp_path, "3.41.0rc1", "3 41 0 candidate CPython")
    install(tmp_path, "pypy", "3 42 0 final PyPy")
    install(tmp_path, "broken", "3 43 0 final CPython", code=1)

    assert script.newest(script.candidates(), (3, 11)) == newest
    assert script.newest(script.candidates(), (3, 40)) is None
