"""What lists the things that a program keeps, and what leaves only some of a list. Data only."""

from __future__ import annotations

import re
from typing import Final

from handrail.shell.tables.remote_loss import KIND
from handrail.shell.tables.word_list import word_set

# Prints what there is, for another run of the same program.
LISTING: Final = re.compile(
    r"(?:list|ls|show|status|get)(?:[_-]\w+)?|[\w:]+[-:](?:list|status|find)|snapshots|--scan|keys|-bpr?|\*"
)
# They list what is installed on this machine, and can be installed or made again.
INSTALLED_HERE: Final = word_set("""
    pip pip3 pipx uv conda mamba micromamba asdf mise rtx pyenv rbenv nodenv nvm fnm volta rustup cargo gem npm pnpm
    yarn dotnet sdk jupyter kind k3d minikube ollama poetry pdm hatch ghcup opam luarocks cpanm composer code codium
""")
# An option by which a program lists only some of what it has.
FILTERED: Final = re.compile(
    r"\s(?:(?:--filter|-\w*f)[ =][\"']?(?!driver=|scope=|dangling=(?:false|0))\w++=[\"']?[\w.-]"
    r"|--(?:failed|state[ =]failed)(?!\S)|(?:--(?:tag|host|path|pattern|match|prefix|selector|before)[ =]|keys )[\"']?+(?!\*[\"'\s])\S"
    r"|-[zxofrsy](?!\S)(?<=exiqgrep -[zxofrsy]))"
)
SEARCHES: Final = word_set("grep egrep fgrep zgrep rg ag ack")
PICKS: Final = word_set("fzf sk peco")
# Options of a search: the lines without the pattern, a file of patterns, and the pattern itself.
INVERTS: Final = re.compile(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match")
PATTERN_FILE: Final = re.compile(r"-[a-zA-Z]*f.*|--file(?:=.*)?")
PATTERN: Final = re.compile(r"(?:-[a-zA-Z]*e|--regexp=)(?P<pattern>.*)", re.DOTALL)
# The pattern with which an awk program begins.
AWK_PATTERN: Final = re.compile(r"\s*/((?:[^/\\]|\\.)++)/")
# How much `head` and `tail` print: the sign, the number, and a unit.
LINE_COUNT: Final = re.compile(
    r" (?:-[qvz]*[nc] ?|--(?:lines|bytes)[ =]|-(?=\d)|(?=\+\d))([-+]?)(\d+)(\w?)"
)
SOME_LINES: Final = 20
# Parts of a regular expression that match anything, or nothing.
MATCHES_ANYTHING: Final = re.compile(
    r"\\[^|.]|\[\^?\]?[^\]]*+\]|\{[\d,]*+\}|\([^()]*+\)[*?]|\w[*?]"
)
ALTERNATIVE: Final = re.compile(r"\\?\||\n")
LITERAL: Final = re.compile(r"\w[\w-]+")
# Every line of a list may have it.
IN_EVERY_LINE: Final = re.compile(
    KIND.pattern + r"|[a-z]?ids?|[a-z]*names?|dn|mail|local|running|active|deployed|true|status"
)
