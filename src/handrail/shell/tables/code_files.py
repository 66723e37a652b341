"""The files that programs run as code: by their names, or by an option that names them. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.shell.tables.word_list import word_set

# The files that programs read for what to run if they are told no other one.
DEFAULT_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("make", "gmake", "bmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "ninja": ("build.ninja",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    **dict.fromkeys(("pytest", "py.test"), ("conftest.py", "tests/conftest.py")),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    **dict.fromkeys(("pip", "pip3"), ("setup.py",)),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    "fab": ("fabfile.py",),
    "scons": ("SConstruct",),
    "sphinx-build": ("conf.py", "docs/conf.py"),
    "snakemake": ("Snakefile", "workflow/Snakefile"),
    **dict.fromkeys(("rake", "bundle"), ("Rakefile", "Gemfile")),
    "cargo": ("build.rs", "src/main.rs", "src/lib.rs"),
    "go": ("main.go", "main_test.go", "magefile.go"),
    "mage": ("magefile.go",),
    **dict.fromkeys(("cmake", "ctest"), ("CMakeLists.txt",)),
    "meson": ("meson.build",),
    **dict.fromkeys(("gradle", "gradlew"), ("build.gradle", "build.gradle.kts", "settings.gradle")),
    **dict.fromkeys(("mvn", "mvnw"), ("pom.xml",)),
    "mix": ("mix.exs",),
    "swift": ("Package.swift",),
    "zig": ("build.zig",),
    "gulp": ("gulpfile.js", "gulpfile.mjs"),
    "grunt": ("Gruntfile.js",),
    "webpack": ("webpack.config.js",),
    "vite": ("vite.config.js", "vite.config.ts"),
    "jest": ("jest.config.js",),
    "eslint": ("eslint.config.js", ".eslintrc.js"),
    "pre-commit": (".pre-commit-config.yaml",),
    "direnv": (".envrc",),
    "gdb": (".gdbinit",),
    "irb": (".irbrc",),
}
_COMPOSED: Final = tuple(
    f"{name}{end}"
    for name in ("docker-compose", "compose", "docker-compose.override", "compose.override")
    for end in (".yml", ".yaml")
)
# Files that say what a program starts, in a language of settings.
SETTINGS_FILES: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
    ("docker", "docker-compose", "podman", "podman-compose", "nerdctl"), _COMPOSED
)
# Options whose value is a file that the program runs.
CODE_OPTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "java": re.compile(r"-jar|-cp|-classpath|--class-path|-javaagent|-agentpath|--module-path|-p"),
    **dict.fromkeys(
        ("vim", "vi", "nvim", "ex", "view", "gvim"), re.compile(r"-\w*S|-\w*u|-\w*s|--cmd|-l")
    ),
    **dict.fromkeys(("emacs", "emacsclient"), re.compile(r"-l|--load|--script|-x")),
    **dict.fromkeys(
        ("gdb", "lldb"), re.compile(r"-{1,2}(?:x|command|ix|init-command|s|S|source\S*)")
    ),
    **dict.fromkeys(("node", "nodejs", "bun"), re.compile(r"-r|--require|--import|--loader")),
    **dict.fromkeys(("awk", "gawk", "mawk", "sed", "gsed"), re.compile(r"-\w*f|--file")),
    **dict.fromkeys(
        ("make", "gmake", "bmake", "just", "ninja", "rake"), re.compile(r"-f|--\w*file|--justfile")
    ),
    "cmake": re.compile(r"-P|-C|-DCMAKE_TOOLCHAIN_FILE"),
    "nmap": re.compile(r"--script"),
    **dict.fromkeys(("bash", "zsh", "ksh"), re.compile(r"--rcfile|--init-file")),
    **dict.fromkeys(("ssh", "scp", "sftp"), re.compile(r"-F")),
    "tmux": re.compile(r"-f"),
    "screen": re.compile(r"-c"),
    "logrotate": re.compile(r"-f|--force"),
    **dict.fromkeys(("pytest", "py.test"), re.compile(r"-p|-c|--rootdir|--confcutdir")),
    **dict.fromkeys(("gcc", "clang", "cc"), re.compile(r"-fplugin|-fpass-plugin")),
    "openssl": re.compile(r"-engine|-provider"),
    "php": re.compile(r"-f|--file|-d"),
    **dict.fromkeys(("k6", "locust"), re.compile(r"-f|--locustfile")),
    "at": re.compile(r"-f"),
    "git": re.compile(r"core\.hooksPath|include\.path"),
    "sqlite3": re.compile(r"-init"),
}
# Their first operand is a file that they run.
RUNS_OPERAND: Final = word_set("""
    ansible-playbook ansible-pull expect wish dotnet mono wine jshell groovy kotlin kotlinc scala scala-cli nim
    crystal octave octave-cli racket guile sbcl clisp ocaml runghc runhaskell elixir escript swipl janet fennel
    logrotate crontab tsx ts-node esbuild-runner jbang kscript rust-script hurl k6 pwsh powershell puppet
    chef-apply chef-solo snakemake nextflow streamlit gunicorn uvicorn flask fab insmod
""")
# The second word of these is a file that they run, if the first is a verb for it.
RUNS_AFTER_VERB: Final[Mapping[str, re.Pattern[str]]] = {
    "go": re.compile(r"run|test|generate"),
    "uv": re.compile(r"run"),
    "pipx": re.compile(r"run"),
    "deno": re.compile(r"run|test"),
    "bun": re.compile(r"run|test"),
    "zig": re.compile(r"run|test"),
    "dart": re.compile(r"run"),
    "puppet": re.compile(r"apply"),
    "streamlit": re.compile(r"run"),
    "k6": re.compile(r"run"),
    "tmux": re.compile(r"source(?:-file)?"),
}
# Variables that name a file or library which a program loads before anything else.
LOADED_VARIABLES: Final = re.compile(
    r"LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PYTHONSTARTUP|BASH_ENV|ENV|NODE_OPTIONS|PERL5OPT|RUBYOPT"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|VIMINIT|MYVIMRC|EXINIT|GIT_CONFIG_GLOBAL|GIT_CONFIG|OPENSSL_CONF"
    r"|R_PROFILE_USER|R_PROFILE|GCONV_PATH|PYTHONBREAKPOINT|ANSIBLE_CONFIG"
)
# Start files in languages of their own: code that runs with the next program.
STARTUP_CODE: Final = re.compile(
    r".*/(?:(?:user|site)customize\.py|[\w.-]+\.pth|\.(?:g?vim|nvim|ex)rc|init\.(?:vim|lua|el)|\.emacs(?:\.el)?|\.gdbinit|\.lldbinit"
    r"|\.irbrc|\.pryrc|\.Rprofile|\.pythonrc(?:\.py)?|\.pdbrc|\.psqlrc|\.sqliterc|\.tmux\.conf|tmux\.conf|\.screenrc|\.octaverc"
    r"|startup\.py|ipython_config\.py|\.ghci|\.iex\.exs|\.forward|\.procmailrc|\.wgetrc|\.lessfilter"
    r"|\.git/config|\.gitconfig|\.mailcap|\.muttrc|\.inputrc)"
)
# A command in such a file: `!command`, `run-shell "command"`, `|command`.
STARTUP_COMMAND: Final = re.compile(
    r"(?m)(?:^|[\s\"'=:])(?:\\?!|run-shell\s|if-shell\s|\|(?!\s*\|)|(?:exec|screen|shell|system)\s)\s*[\"']?([^\n]++)"
)
