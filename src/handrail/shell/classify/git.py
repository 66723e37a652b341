"""Safe read-only use of git: an environment, and a check of the repository's configuration.

A repository's configuration names programs that git runs. The environment disables those with
fixed keys. Filters and drivers have keys that the repository chooses, so the configuration is
checked for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

# Set as on git's command line: stronger than any file of the repository.
_SETTINGS: Final = {
    "core.fsmonitor": "",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "core.gitProxy": "",
    "sequence.editor": "false",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "log.showSignature": "false",
    "log.diffMerges": "separate",
    "credential.helper": "",
    "diff.submodule": "short",
    "diff.ignoreSubmodules": "dirty",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "maintenance.auto": "false",
    "gc.auto": "0",
}
_VARIABLES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "0",
}
# Keys, by section, that name a program or a place and that no environment can take back.
_UNSAFE_KEYS: Final = {
    "filter": re.compile(r".*"),
    "diff": re.compile(r"command|textconv|external"),
    "merge": re.compile(r"driver"),
    "core": re.compile(r"worktree"),
    # What is included is not seen here.
    "include": re.compile(r".*"),
    "includeif": re.compile(r".*"),
}

_HEADER: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_VALUE: Final = re.compile(r'=(?:[^"\\\n#;]|\\\n|\\.|"(?:[^"\\\n]|\\\n|\\.)*")*')
_BLANK: Final = re.compile(r"(?:\s+|[#;][^\n]*)+")


class _InvalidConfig(Exception):
    """The text is not a valid git configuration."""


class _ConfigEntry(NamedTuple):
    section: str
    key: str


def git_environment() -> Mapping[str, str]:
    """Variables that keep git from running programs named by a repository.

    Filters and drivers are not covered; see `git_config_is_safe`.
    """
    numbered = {"GIT_CONFIG_COUNT": str(len(_SETTINGS))}
    for index, (key, value) in enumerate(_SETTINGS.items()):
        numbered[f"GIT_CONFIG_KEY_{index}"] = key
        numbered[f"GIT_CONFIG_VALUE_{index}"] = value
    return {**_VARIABLES, **numbered}


def git_config_is_safe(*configurations: str) -> bool:
    """Whether the configurations name no filter, driver, other worktree or included file.

    A configuration that cannot be parsed is not safe.
    """
    try:
        return not any(_runs_program(entry) for text in configurations for entry in _entries(text))
    except _InvalidConfig:
        return False


def _runs_program(entry: _ConfigEntry) -> bool:
    keys = _UNSAFE_KEYS.get(entry.section)
    return keys is not None and keys.fullmatch(entry.key) is not None


def _entries(text: str) -> Iterator[_ConfigEntry]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    section, at = "", 0
    while at < len(text):
        blank = _BLANK.match(text, at)
        if blank is not None:
            at = blank.end()
            continue
        header = _HEADER.match(text, at)
        if header is not None:
            # The old way to write a subsection: [section.sub].
            section, at = header[1].lower().partition(".")[0], header.end()
            continue
        key = _KEY.match(text, at)
        if key is None or not section:
            raise _InvalidConfig
        yield _ConfigEntry(section, key[1].lower())
        at = _past_value(text, key.end())


def _past_value(text: str, at: int) -> int:
    value = _VALUE.match(text, at)
    end = at if value is None else value.end()
    if end < len(text) and text[end] not in "\n#;":
        raise _InvalidConfig
    return end
