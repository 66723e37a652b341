"""Environment variables: which of them change what a program runs or reads.

A variable passed with a command is classified like an assignment before it, `K=V command`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from posixpath import normpath
from typing import Final

from handrail.core.commands import CommandClass

# Code, programs, libraries, options or places that a program takes from its environment.
_DANGEROUS: Final = re.compile(
    r"""(?ix)
    (?: LD_ | DYLD_ | GCONV_PATH | GLIBC_ | MALLOC_ | LOCPATH | NLSPATH | HOSTALIASES | RES_OPTIONS
      | PYTHON | PIP_ | UV_ | POETRY_ | VIRTUAL_ENV | CONDA_ | NODE_ | NPM_ | YARN_ | BUN_ | DENO_
      | PERL | RUBY | GEM_ | BUNDLE_ | PHP | LUA_ | TCL | R_ | JULIA_ | ERL_ | ELIXIR_ | GUILE_
      | JAVA_ | _JAVA_ | JDK_ | CLASSPATH | MAVEN_ | MVN_ | GRADLE_ | SBT_ | ANT_ | KOTLIN_ | SCALA_
      | DOTNET_ | MSBUILD | NUGET_ | COMPLUS_ | CORECLR_ | CARGO_ | RUSTC | RUSTDOC | RUSTUP_
      | RUSTFLAGS | GOFLAGS | GOROOT | GOPATH | GOENV | GOPROXY | GOSUMDB | GOTOOL | GOBIN | GOCACHE
      | GOEXPERIMENT | GOAUTH | GOVCS | CGO_C | CGO_L | CGO_F
      | BASH | ENV$ | PS[0-4]$ | SHELLOPTS | IFS$ | PROMPT_ | CDPATH | GLOBIGNORE | FPATH | ZDOTDIR
      | EXECIGNORE | FIGNORE | HIST | POSIXLY_ | TERMINFO | TERMCAP | INPUTRC | COMP_ | FUNCNEST
      | GIT_ | GPG_ | GNUPG | SSH_ | SVN_ | HG | PAGER$ | MANPAGER | MANOPT | MANPATH | LESS | MORE$
      | BAT_ | DELTA_ | MOST_ | EDITOR$ | VISUAL$ | FCEDIT | SUDO_ | BROWSER$ | [A-Z]*_PAGER$
      | [A-Z]*_EDITOR$ | [A-Z]*_ASKPASS$ | PATH$ | HOME$ | XDG_ | TMP$ | TEMP$ | TMPDIR$ | USER$
      | LOGNAME$ | SHELL$ | PWD$ | OLDPWD$ | [A-Z]*_PROXY$ | CURL_ | WGET | WGETRC | SSL_ | OPENSSL_
      | REQUESTS_ | RIPGREP_ | GREP_OPT | RG_ | FZF_ | FD_ | AG_ | ACK_ | TAR_OPTIONS | TAPE$
      | GZIP$ | BZIP | XZ_ | ZSTD_ | ZIP | UNZIP | LZ | RSYNC_ | POSIX | SED | AWK | GAWK | JQ_ | YQ_
      | TREE_ | MAKE | MFLAGS | GNUMAKE | CMAKE_ | CTEST_ | NINJA_ | MESON_ | CC$ | CXX$ | CPP$ | LD$
      | AR$ | AS$ | C[A-Z]*FLAGS$ | LDFLAGS | LDLIBS | CPATH | C_INCLUDE | CPLUS_ | OBJC_ | LIBRARY_
      | GCC_ | COMPILER_ | COLLECT_ | CCACHE_ | DISTCC_ | PKG_CONFIG | ACLOCAL | AUTO | M4
      | PYTEST_ | TOX_ | NOX_ | COVERAGE_ | MYPY | RUFF_ | BLACK_ | PYLINT | ESLINT_ | TS_NODE_ | JEST_
      | DOCKER_ | BUILDKIT_ | COMPOSE_ | KUBE | HELM_ | TF_ | TERRA | AWS_ | AZURE_ | GOOGLE_ | GH_
      | GITHUB_ | DATABASE_URL | PG | MYSQL_ | SQLITE_ | LIBGL | QT_ | GTK_ | GIO_ | DBUS_ | DISPLAY$
      | WAYLAND_ | SYSTEMD_ | HANDRAIL
    ).*
    """
)
_HARMLESS: Final = re.compile(
    r"""(?x)
    LANG | LANGUAGE | LC_[A-Z]+ | TZ | NO_COLOR | FORCE_COLOR | CLICOLOR | CLICOLOR_FORCE | COLORTERM
    | COLUMNS | LINES | TERM | CI | DEBUG | VERBOSE | LS_COLORS | GREP_COLOR | GREP_COLORS | TIME_STYLE
    | BLOCK_SIZE | BLOCKSIZE | QUOTING_STYLE | TABSIZE | RUST_BACKTRACE | RUST_LOG
    """
)
# Variables of development tools that choose among their own ways, not what is run.
_DEVELOPMENT: Final = re.compile(
    r"""(?x)
    RUST_[A-Z_]+ | CGO_ENABLED | GOOS | GOARCH | GOARM | GO111MODULE | GOMAXPROCS | NODE_ENV
    | CARGO_TERM_[A-Z]+ | CARGO_INCREMENTAL | PYTHONUNBUFFERED | PYTHONDONTWRITEBYTECODE
    | PYTHONHASHSEED | PYTHONUTF8 | PYTHONIOENCODING | PYTHONFAULTHANDLER | PYTEST_TIMEOUT
    | DOTNET_CLI_TELEMETRY_OPTOUT | DOTNET_NOLOGO | DOCKER_BUILDKIT | COMPOSE_DOCKER_CLI_BUILD
    | HUSKY | GIT_TERMINAL_PROMPT | PIP_NO_INPUT | PIP_DISABLE_PIP_VERSION_CHECK
    """
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT: Final = re.compile(r"HOME|LANG|LANGUAGE|LC_[A-Z]+|USER|LOGNAME|SHELL|TZ|TMPDIR|NO_COLOR|CI")
_USUAL_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def classify_variable(name: str) -> CommandClass:
    """The safety class of a command for which this variable is set."""
    if not _NAME.fullmatch(name):
        return CommandClass.DANGEROUS
    if _HARMLESS.fullmatch(name):
        return CommandClass.SAFE
    if _DEVELOPMENT.fullmatch(name):
        return CommandClass.DEV
    return CommandClass.DANGEROUS if _DANGEROUS.match(name) else CommandClass.DEV


def child_environment(base: Mapping[str, str], roots: Sequence[str] = ()) -> dict[str, str]:
    """The environment of every command: a fixed list of names taken from `base`.

    PATH keeps only absolute directories outside the roots, because files in a root are not trusted.
    """
    kept = {name: value for name, value in base.items() if _KEPT.fullmatch(name)}
    kept["PATH"] = _search_path(base.get("PATH", ""), roots)
    kept["TERM"] = "dumb"
    return kept


def _search_path(written: str, roots: Sequence[str]) -> str:
    kept = [
        entry
        for entry in written.split(":")
        if entry.startswith("/")
        and not any(f"{_plain(entry)}/".startswith(f"{root.rstrip('/')}/") for root in roots)
    ]
    return ":".join(kept) or _USUAL_PATH


def _plain(path: str) -> str:
    """An absolute path without `.`, `..` and slashes that say nothing."""
    return f"/{normpath(path).lstrip('/')}"
