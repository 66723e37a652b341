"""Programs whose text arguments are data: words to print, to search for, or to send as a message."""

from __future__ import annotations

from functools import cache
from typing import Final

from handrail.shell.tables.catastrophes import LANGUAGES, SHELLS
from handrail.shell.tables.program_table import program_entries
from handrail.shell.tables.word_list import word_set

# They record, send or show what they are told.
_MESSENGERS: Final = word_set("""
    git hg svn jj fossil bzr gh glab hub tea jira linear logger wall write notify-send say espeak
    zenity kdialog dialog whiptail osascript mail mailx mutt sendmail msmtp swaks slack
    curl wget wget2 http https xh httpie grpcurl websocat alias unalias export declare typeset local
    readonly set trap read history complete bind abbr man info tldr apropos whatis
    echo printf cowsay figlet toilet banner print builtin command type which whereis
    commitlint conventional-changelog changie towncrier reno cz czg standard-version
    less more most vi vim nvim nano code subl ed ex docker podman nerdctl kubectl oc
""")


@cache
def takes_text_as_data(name: str) -> bool:
    """Whether a text argument of the program is never a command, as far as is known.

    Shells and languages are read by readers of their own.
    """
    if name in _MESSENGERS or name in SHELLS or name in LANGUAGES:
        return True
    entry = program_entries().get(name)
    return entry is not None and entry.get("class", "safe") == "safe"
