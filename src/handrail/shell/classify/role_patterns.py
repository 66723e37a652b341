"""The roles of arguments of which only some texts are harmless. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.shell.analyze import builtins

# One statement that only asks; the functions of the shell that write or load are not in it.
_STATEMENT: Final = (
    r"(?:select|explain|with|values)\b(?!.*\b(?:writefile|readfile|load_extension|edit|attach|fts3_tokenizer|zipfile"
    r"|fsdir|lsdir|pragma|into|insert|update|delete|create|drop|alter|replace|vacuum|sqlar\w*|eval|generate_series"
    r"|recursive|fileio|randomblob|zeroblob)\b)[^;]*+"
    r"|pragma\s+(?:table_info|index_list|index_info|foreign_key_list|table_list)\s*\(\s*['\"]?\w+['\"]?\s*\)"
    r"|pragma\s+(?:user_version|schema_version|page_count|page_size|encoding|integrity_check|quick_check"
    r"|foreign_key_check|database_list|compile_options)\b"
)
_VARIABLES: Final = (
    "PATH|HOME|PWD|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TERM|TZ|HOSTNAME|EDITOR|CI|TMPDIR|OLDPWD|SHLVL"
)
_MARKDOWN: Final = r"(?:markdown(?:_\w+)?|gfm|commonmark(?:_x)?)"
# A name that is no address, option, list (`@x`) or pipe (`|x`), whatever a pattern in it matches.
_LOCAL: Final = r"(?!-)(?:[\w.+ %=,-]*/[\w.+ %=,*?\[\]/-]*|[\w.+ %=,-]*)"
_SOUND: Final = "wav|mp3|ogg|oga|flac|opus|aiff?|au|snd|m4a|aac|wma|caf|w64|wv"
_PICTURE: Final = "jpe?g|png|gif|tiff?|webp|heic|heif|avif|bmp|dng|cr[23]|nef|arw|raf|orf|rw2|psd"
_VIDEO: Final = "mp4|m4v|mov|mkv|webm|avi|mpe?g|ts|m2?ts|ogv|wmv|flv|3gp|mxf|y4m"
# Files that are read, by their names: programs follow what other files refer to.
NAMED_FILES: Final[Mapping[str, str]] = {
    "local": _LOCAL,
    **{
        role: rf"{_LOCAL}\.(?:{endings})"
        for role, endings in {
            "alignments": r"bam|sam|sam\.gz",
            "variants": r"vcf|bcf|vcf\.b?gz",
            "indexed": r"b?gz|bcf|bam",
            "sequences": r"(?:fa|fasta|fna|ffn|faa|fq|fastq)(?:\.(?:gz|xz|zst|bz2))?",
            "intervals": r"(?:bed|bedgraph|bdg|gff3?|gtf|vcf)(?:\.gz)?",
            "sound": _SOUND,
            "picture": rf"{_PICTURE}|{_VIDEO}",
            "recording": rf"{_SOUND}|{_PICTURE}|{_VIDEO}",
            "markup-file": r"md|markdown|mkd",
        }.items()
    },
}
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
    "variable": _VARIABLES,
    "npm-key": r"registry|prefix|cache|node-version|user-agent|init-\w+|loglevel|workspaces?|save-\w+|engine-strict",
    "flags": r"[-+][efuxvCEhnTH]+o?|[-+]o|errtrace|functrace|pipefail|errexit|nounset|xtrace|verbose|noglob|noclobber|-|--",
    "merges": r"off|none|on|m|first-parent|1|separate|combined|c|dense-combined|cc",
    "identity": r"GIT_(?:AUTHOR|COMMITTER)_IDENT|GIT_DEFAULT_BRANCH|GIT_(?:SEQUENCE_)?EDITOR|GIT_PAGER",
    "query": (
        r"(?is)\s*+(?:\.(?:tables|schema|indexes|indices|databases|fullschema)(?:\s+[\w%*]+)?"
        rf"|(?:{_STATEMENT})(?:\s*+;\s*+(?:{_STATEMENT}))*+)\s*+;?\s*+"
    ),
    # Variables whose values may be shown.
    "shown": rf"(?:\$(?:{_VARIABLES}|\{{(?:{_VARIABLES})\}})[\s,]*)+",
    "blob": r"dtb",
    "markup-read": rf"{_MARKDOWN}(?:[-+]\w+)*",
    "markup": (
        rf"(?:{_MARKDOWN}|plain|html[45]?|rst|org|json|native|latex|asciidoc|man|mediawiki|textile|jira)"
        r"(?:[-+]\w+)*"
    ),
    "format": rf"(?!-){builtins.FORMAT}|--",
    "mode": r"(?:0?[0-7]{3}|[ugoa,+=rwxX-]+)",
}
# Texts that are harmless unless some part of them matches.
DENIED_TEXT: Final[Mapping[str, str]] = {
    "yq": r"\b(?:env|strenv|envsubst|load\w*|system|repeat|while|until|def|import|include)\b|eval\s*\(|\$ENV",
    "columns": r"environ",
    # In a filter of bcftools `perl` runs a script, and `@` reads a file.
    "variants-where": r"(?i)perl|@",
    # Signatures are checked by a program that the configuration names.
    "pretty": r"%[-+ ]?G|%\(signature|%\(trailers:.*cmd",
    # An index in a name is worked out, and working out can run commands.
    "check": r"^-[vR]$",
    "name": r"[^A-Za-z0-9_]",
}
# Commands to which an awk program gives what it prints.
SORTING: Final = re.compile(r"(?:sort|uniq|wc|head|tail|column|cut|tr|nl|fold|tac|rev)(?=\s|$)")
# As a pattern it matches names of the same shape only: `.[0]`, `.a?`.
DOTTED_TEXT: Final = re.compile(r"\.[^*?]*\??[^*?]*")
# The arguments of functions and shells: each is classified where it is given.
SHELL_ARGUMENTS: Final = frozenset(("@", "*", "#", *map(str, range(1, 10))))
