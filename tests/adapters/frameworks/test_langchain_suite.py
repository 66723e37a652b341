"""LangChain's own integration tests for sandbox backends, run on ours."""

import pytest
from langchain_tests.integration_tests import SandboxIntegrationTests

import handrail.sync
from handrail.adapters.deepagents import HandrailBackend

# The suite is older than the protocol of deepagents 0.7.32 that these contradict.
ABSOLUTE = "`FileInfo.path` is always absolute, so that rules about paths match"
EXCEPTIONS = {
    "test_write_existing_file_fails": "`write` replaces a file that exists",
    "test_glob_with_directories": "`glob` returns only regular files",
    "test_glob": ABSOLUTE,
    "test_glob_basic_pattern": ABSOLUTE,
    "test_glob_hidden_files_explicitly": ABSOLUTE,
    "test_glob_with_character_class": ABSOLUTE,
    "test_glob_with_question_mark": ABSOLUTE,
}


class TestHandrailBackend(SandboxIntegrationTests):
    root = ""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls, tmp_path_factory):
        home, workspace = (tmp_path_factory.mktemp(name) for name in ("home", "workspace"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(home / "state"))
            patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
            settings = {"mode": "bypass", "allow_delete": True, "store": ":memory:"}
            with handrail.sync.open(workspace, **settings) as rt:
                cls.root = str(workspace)
                yield HandrailBackend(rt)

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox_backend(cls, sandbox):
        return sandbox

    @property
    def sandbox_root_dir(self):
        return self.root


def test_the_exceptions_are_tests_of_the_suite():
    assert [name for name in EXCEPTIONS if not hasattr(SandboxIntegrationTests, name)] == []
