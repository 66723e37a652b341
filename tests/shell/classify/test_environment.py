"""Which variables change what runs, and which ones a command gets."""

import pytest

from handrail.core.commands import CommandClass
from handrail.shell.classify.environment import child_environment, classify_variable

SAFE, DEV, DANGEROUS, _ = CommandClass
CODE = """
LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH PYTHONPATH PYTHONSTARTUP NODE_OPTIONS
PERL5LIB PERL5OPT RUBYOPT BASH_ENV ENV BASH_FUNC_x%% PS4 SHELLOPTS BASHOPTS IFS PROMPT_COMMAND
GIT_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF PAGER GIT_PAGER MANPAGER LESSOPEN LESS EDITOR VISUAL
BROWSER PATH HOME XDG_CONFIG_HOME http_proxy HTTPS_PROXY all_proxy RIPGREP_CONFIG_PATH
GREP_OPTIONS TAR_OPTIONS JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAKEFLAGS CFLAGS CC LDFLAGS RUSTFLAGS
RUSTC_WRAPPER GOFLAGS TMPDIR CDPATH LOCPATH OPENSSL_CONF CURL_HOME HANDRAIL_HOME
"""


@pytest.mark.parametrize("name", CODE.split())
def test_variables_that_choose_code_are_dangerous(name):
    assert classify_variable(name) is DANGEROUS


@pytest.mark.parametrize(
    "name", ["LANG", "LC_ALL", "TZ", "NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS", "TERM", "DEBUG"]
)
def test_variables_of_taste_are_harmless(name):
    assert classify_variable(name) is SAFE


@pytest.mark.parametrize("name", ["FOO", "NODE_ENV", "CGO_ENABLED", "APP_MODE", "GOOS"])
def test_others_are_for_development(name):
    assert classify_variable(name) is DEV


@pytest.mark.parametrize("name", ["", "A B", "A=B", "1A", "A-B", "A\0", "É"])
def test_what_is_no_name_is_dangerous(name):
    assert classify_variable(name) is DANGEROUS


def test_a_command_gets_a_closed_list_of_variables():
    base = {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "USER": "u",
        "TERM": "xterm",
        "AWS_SECRET_ACCESS_KEY": "x",
        "LD_PRELOAD": "x",
        "BASH_ENV": "x",
        "BASH_FUNC_ls%%": "() { id; }",
    }

    assert child_environment(base) == {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "USER": "u",
        "TERM": "dumb",
    }


def test_the_search_path_holds_nothing_of_a_root():
    path = "/w/app/.venv/bin:/usr/bin::bin:.:/w/app:/w/app-tools:/bin"

    assert child_environment({"PATH": path}, ["/w/app"])["PATH"] == "/usr/bin:/w/app-tools:/bin"


def test_there_is_always_a_search_path():
    assert "/usr/bin" in child_environment({})["PATH"].split(":")
    assert "/usr/bin" in child_environment({"PATH": "/w/bin"}, ["/w"])["PATH"].split(":")


@pytest.mark.threat("A46")
@pytest.mark.parametrize("entry", ["/w/x/../app/bin", "//w/app/bin", "/w/./app", "/w//app/bin/"])
def test_a_directory_of_a_root_is_left_out_of_the_search_path_however_it_is_spelled(entry):
    found = child_environment({"PATH": f"{entry}:/usr/bin"}, ["/w/app"])

    assert found["PATH"] == "/usr/bin"
