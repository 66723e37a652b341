"""The table of files that programs or agents act on although no command names them.

Rows: `name/` is a directory with its content, `name` a file (`*` is a wildcard), `a/b/` and `a/b` are
paths; each matches at any depth below a root. A name is listed if opening or entering a folder, or an
everyday command in it, makes a program execute or follow the file. Files that developers edit every
day are not listed.
"""

from __future__ import annotations

from typing import Final

_EDITOR: Final = "the editor runs tasks, programs or settings from it"
_EDITOR_SCRIPT: Final = "the editor runs it when a file beside it is opened"
_CLOUD_EDITOR: Final = "a development environment runs what it names when it is opened"
_GIT_HOOKS: Final = "git runs the hooks in it"
_HOOK_RUNNER: Final = "git hooks run the commands it names"
_ENTERED: Final = "the shell loads it on entering the folder"
_SHELL_START: Final = "a shell runs it at start"
_SHELL_EXIT: Final = "a shell runs it at exit"
_TOOL_VERSIONS: Final = "version managers take programs and commands from it"
_PACKAGE_MANAGER: Final = "the package manager runs what it names"
_BUILD_TOOL: Final = "the build tool runs what it names"
_INTERPRETER_START: Final = "the interpreter runs it at start"
_DEBUGGER: Final = "the debugger runs it at start"
_PYTHON_START: Final = "every Python start runs it"
_FIRST_ON_PATH: Final = "commands are taken from it before the system's"
_AGENT: Final = "an agent loads settings, hooks, skills or rules from it"
_INSTRUCTIONS: Final = "agents follow what it says in every later session"

# Files that a program executes or takes programs from.
EXECUTED: Final = {
    # Version control
    ".git/": "git runs hooks, filters and programs named in its configuration",
    "git~1/": "it is the short name of .git on some file systems",
    ".gitmodules": "git fetches and configures what it names",
    ".gitconfig": "git runs programs named in it",
    ".githooks/": _GIT_HOOKS,
    ".husky/": _GIT_HOOKS,
    ".pre-commit-config.yaml": _HOOK_RUNNER,
    ".pre-commit-config.yml": _HOOK_RUNNER,
    "lefthook.*": _HOOK_RUNNER,
    ".lefthook.*": _HOOK_RUNNER,
    ".lefthook/": _HOOK_RUNNER,
    ".hg/": "Mercurial runs hooks and extensions named in its configuration",
    ".jj/": "Jujutsu runs programs named in its configuration",
    # Editors and development environments
    ".vscode/": _EDITOR,
    "*.code-workspace": _EDITOR,
    ".idea/": _EDITOR,
    ".zed/": _EDITOR,
    ".helix/": _EDITOR,
    ".fleet/": _EDITOR,
    ".vs/": _EDITOR,
    ".nova/": _EDITOR,
    ".theia/": _EDITOR,
    ".vim/": _EDITOR,
    ".exrc": _EDITOR_SCRIPT,
    ".vimrc": _EDITOR_SCRIPT,
    ".gvimrc": _EDITOR_SCRIPT,
    ".lvimrc": _EDITOR_SCRIPT,
    ".nvimrc": _EDITOR_SCRIPT,
    ".nvim.lua": _EDITOR_SCRIPT,
    ".lazy.lua": _EDITOR_SCRIPT,
    ".dir-locals.el": _EDITOR_SCRIPT,
    ".dir-locals-2.el": _EDITOR_SCRIPT,
    ".ycm_extra_conf.py": _EDITOR_SCRIPT,
    ".devcontainer/": _CLOUD_EDITOR,
    ".devcontainer.json": _CLOUD_EDITOR,
    ".devfile.yaml": _CLOUD_EDITOR,
    ".gitpod.yml": _CLOUD_EDITOR,
    ".replit": _CLOUD_EDITOR,
    ".codesandbox/": _CLOUD_EDITOR,
    ".stackblitzrc": _CLOUD_EDITOR,
    ".idx/": _CLOUD_EDITOR,
    # Entering a folder, shells
    ".envrc": _ENTERED,
    ".envrc.*": _ENTERED,
    ".direnv/": _ENTERED,
    ".autoenv": _ENTERED,
    ".autoenv.*": _ENTERED,
    ".autoenv_leave.zsh": _ENTERED,
    "mise.toml": _TOOL_VERSIONS,
    ".mise.toml": _TOOL_VERSIONS,
    "mise.*.toml": _TOOL_VERSIONS,
    ".mise.*.toml": _TOOL_VERSIONS,
    "mise/config.toml": _TOOL_VERSIONS,
    ".mise/": _TOOL_VERSIONS,
    ".config/mise/": _TOOL_VERSIONS,
    ".config/mise.toml": _TOOL_VERSIONS,
    ".tool-versions": _TOOL_VERSIONS,
    "rust-toolchain": _TOOL_VERSIONS,
    "rust-toolchain.toml": _TOOL_VERSIONS,
    ".bashrc": _SHELL_START,
    ".bash_profile": _SHELL_START,
    ".bash_login": _SHELL_START,
    ".bash_logout": _SHELL_EXIT,
    ".profile": _SHELL_START,
    ".zshrc": _SHELL_START,
    ".zshenv": _SHELL_START,
    ".zprofile": _SHELL_START,
    ".zlogin": _SHELL_START,
    ".zlogout": _SHELL_EXIT,
    ".kshrc": _SHELL_START,
    ".cshrc": _SHELL_START,
    ".tcshrc": _SHELL_START,
    ".login": _SHELL_START,
    "config.fish": _SHELL_START,
    ".ssh/": "ssh runs programs named in its configuration",
    ".ripgreprc": "a search may run the preprocessor it names",
    # Package managers and build tools
    ".npmrc": "the package manager takes commands and registries from it",
    ".yarnrc": _PACKAGE_MANAGER,
    ".yarnrc.*": _PACKAGE_MANAGER,
    ".yarn/releases/": _PACKAGE_MANAGER,
    ".yarn/plugins/": _PACKAGE_MANAGER,
    ".yarn/sdks/": _EDITOR,
    ".pnpmfile.cjs": _PACKAGE_MANAGER,
    ".pnpmfile.mjs": _PACKAGE_MANAGER,
    "bunfig.toml": _PACKAGE_MANAGER,
    ".bunfig.toml": _PACKAGE_MANAGER,
    ".bundle/config": _PACKAGE_MANAGER,
    ".bundle/plugin/": _PACKAGE_MANAGER,
    ".cargo/config.toml": _BUILD_TOOL,
    ".cargo/config": _BUILD_TOOL,
    ".mvn/": _BUILD_TOOL,
    "gradle/wrapper/": _BUILD_TOOL,
    ".bazelrc": _BUILD_TOOL,
    ".bazeliskrc": _BUILD_TOOL,
    ".bazelversion": _BUILD_TOOL,
    ".buckconfig": _BUILD_TOOL,
    ".buckconfig.local": _BUILD_TOOL,
    ".venv/bin/": _FIRST_ON_PATH,
    "venv/bin/": _FIRST_ON_PATH,
    ".venv/pyvenv.cfg": _PYTHON_START,
    "venv/pyvenv.cfg": _PYTHON_START,
    ".venv/pip.conf": _PACKAGE_MANAGER,
    "venv/pip.conf": _PACKAGE_MANAGER,
    "node_modules/.bin/": _FIRST_ON_PATH,
    # Interpreters and debuggers
    "sitecustomize.py": _PYTHON_START,
    "usercustomize.py": _PYTHON_START,
    "*.pth": "every Python start runs lines of it",
    ".Rprofile": _INTERPRETER_START,
    ".Renviron": _INTERPRETER_START,
    ".irbrc": _INTERPRETER_START,
    ".pryrc": _INTERPRETER_START,
    ".rdbgrc": _DEBUGGER,
    ".ghci": _INTERPRETER_START,
    ".ocamlinit": _INTERPRETER_START,
    ".iex.exs": _INTERPRETER_START,
    ".erlang": _INTERPRETER_START,
    ".user.ini": "PHP runs the files it names before every script",
    ".gdbinit": _DEBUGGER,
    ".lldbinit": _DEBUGGER,
    ".pdbrc": _DEBUGGER,
    # Agents
    ".mcp.json": "assistants start the servers it names",
    ".handrail/": "Handrail's own settings",
    ".agent/": _AGENT,
    ".agents/": _AGENT,
    ".amazonq/": _AGENT,
    ".augment/": _AGENT,
    ".claude/": _AGENT,
    ".claude-plugin/": _AGENT,
    ".codeium/": _AGENT,
    ".codex/": _AGENT,
    ".continue/": _AGENT,
    ".copilot/": _AGENT,
    ".crush/": _AGENT,
    ".cursor/": _AGENT,
    ".factory/": _AGENT,
    ".gemini/": _AGENT,
    ".goose/": _AGENT,
    ".junie/": _AGENT,
    ".kilocode/": _AGENT,
    ".kiro/": _AGENT,
    ".opencode/": _AGENT,
    ".openhands/": _AGENT,
    ".qwen/": _AGENT,
    ".roo/": _AGENT,
    ".trae/": _AGENT,
    ".windsurf/": _AGENT,
    ".aider.conf.yml": _AGENT,
    ".crush.json": _AGENT,
    "crush.json": _AGENT,
    "opencode.json": _AGENT,
    "opencode.jsonc": _AGENT,
}

# Files with instructions that agents follow; no program executes them.
OBEYED: Final = {
    "AGENTS.md": _INSTRUCTIONS,
    "AGENTS.*.md": _INSTRUCTIONS,
    "AGENT.md": _INSTRUCTIONS,
    "CLAUDE.md": _INSTRUCTIONS,
    "CLAUDE.*.md": _INSTRUCTIONS,
    "CRUSH.md": _INSTRUCTIONS,
    "CRUSH.*.md": _INSTRUCTIONS,
    "GEMINI.md": _INSTRUCTIONS,
    "QWEN.md": _INSTRUCTIONS,
    "WARP.md": _INSTRUCTIONS,
    "SKILL.md": "agents follow what it says when they use the skill",
    ".clinerules/": _INSTRUCTIONS,
    ".clinerules-*": _INSTRUCTIONS,
    ".cursorrules": _INSTRUCTIONS,
    ".goosehints": _INSTRUCTIONS,
    ".kilocoderules": _INSTRUCTIONS,
    ".roorules": _INSTRUCTIONS,
    ".roorules-*": _INSTRUCTIONS,
    ".rules": _INSTRUCTIONS,
    ".windsurf*": _INSTRUCTIONS,
    ".github/copilot-instructions.md": _INSTRUCTIONS,
    ".github/instructions/": _INSTRUCTIONS,
    ".github/prompts/": _INSTRUCTIONS,
    ".github/chatmodes/": _INSTRUCTIONS,
    ".github/agents/": _INSTRUCTIONS,
    ".github/skills/": _INSTRUCTIONS,
}

# Directories that their own program writes to constantly. A tool may change nothing in them; a command
# may, except for these files, which name programs or the place where they are found. The longer list
# for `.git` is in the sandbox.
WRITTEN_BY_PROGRAM: Final = {
    ".hg/": ("hgrc", "hgrc-not-shared", "sharedpath"),
    ".jj/": ("repo", "repo/config.toml", "repo/store/git_target", "workspace-config.toml"),
}
# Git treats a directory with these three entries as a repository, whatever its name is.
REPOSITORY_ENTRIES: Final = ("objects", "refs", "HEAD")
REPOSITORY_REASON: Final = "git takes the folder for a repository and runs what it names"
