"""The roles of arguments of which only some texts are harmless. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.shell.analyze import builtins

# Texts of which only some are harmless: all of it must match.
ALLOWED_TEXT: Final[Mapping[str, str]] = {
    "count": r"-?\d{1,6}(?:\.\d{1,6})?|-",
    # Of a sequence: small steps make it long.
    "step": r"-?\d{1,6}(?:\.\d{1,2})?",
    "plus": r"\+[^\0]*",
    "status": r"status",
    "paging": r"never",
    "processes": r"[adfhjlmnrsuvwxTLSX]+|\d+(?:,\d+)*|ax[a-df-z]*",
    "shows": r"show|list|ls|dev|up|(?:lo|eth|en|wl|br|docker|tun|tap|veth)\w*",
    "sysctl": r"[a-z0-9_.*/-]+",
    "sizes": r"size|speed",
    "database": r"services|protocols|passwd|group",
    "variable": r"PATH|HOME|PWD|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TERM|TZ|HOSTNAME|EDITOR|CI|TMPDIR|OLDPWD|SHLVL",
    "npm-key": r"registry|prefix|cache|node-version|user-agent|init-\w+|loglevel|workspaces?|save-\w+|engine-strict",
    "flags": r"[-+][efuxvCEhnTH]+|[-+]o|pipefail|errexit|nounset|xtrace|verbose|noglob|noclobber|-|--",
    "merges": r"off|none|on|m|first-parent|1|separate|combined|c|dense-combined|cc",
    "identity": r"GIT_(?:AUTHOR|COMMITTER)_IDENT|GIT_DEFAULT_BRANCH|GIT_(?:SEQUENCE_)?EDITOR|GIT_PAGER",
    # One statement that only asks; the functions of the shell that write or load are not in it.
    "query": (
        r"(?is)\s*+(?:\.(?:tables|schema|indexes|indices|databases|fullschema)(?:\s+[\w%*]+)?"
        r"|(?:select|explain|with|values)\b(?!.*\b(?:writefile|readfile|load_extension|edit|attach|fts3_tokenizer|zipfile"
        r"|fsdir|lsdir|pragma|into|insert|update|delete|create|drop|alter|replace|vacuum|sqlar\w*|eval|generate_series"
        r"|recursive|fileio|randomblob|zeroblob)\b)[^;]*+"
        r"|pragma\s+(?:table_info|index_list|index_info|foreign_key_list|table_list)\s*\(\s*['\"]?\w+['\"]?\s*\)"
        r"|pragma\s+(?:user_version|schema_version|page_count|page_size|encoding))\s*+;?\s*+"
    ),
    "format": rf"(?!-){builtins.FORMAT}|--",
    "mode": r"(?:0?[0-7]{3}|[ugoa,+=rwxX-]+)",
}
# Texts that are harmless unless some part of them matches.
DENIED_TEXT: Final[Mapping[str, str]] = {
    "yq": r"\b(?:env|strenv|envsubst|load\w*|system|repeat|while|until|def|import|include)\b|eval\s*\(|\$ENV",
    "columns": r"environ",
    # Signatures are checked by a program that the configuration names.
    "pretty": r"%[-+ ]?G|%\(signature|%\(trailers:.*cmd",
    # An index in a name is worked out, and working out can run commands.
    "check": r"^-[vR]$",
    "name": r"[^A-Za-z0-9_]",
}
# As a pattern it matches names of the same shape only: `.[0]`, `.a?`.
DOTTED_TEXT: Final = re.compile(r"\.[^*?]*\??[^*?]*")
# The arguments of functions and shells: each is classified where it is given.
SHELL_ARGUMENTS: Final = frozenset(("@", "*", "#", *map(str, range(1, 10))))
