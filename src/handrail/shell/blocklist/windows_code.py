"""Catastrophes in commands of PowerShell and cmd: what their statements delete, format or turn off."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.tables.word_list import word_set

_STATEMENT: Final = re.compile(r"[;\n{}()]|&&|\|\||&")
_TOKEN: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_ENCODED: Final = re.compile(r"(?i)(?:^|\s)-e(?:nc\w*|c)?\s+([A-Za-z0-9+/]{8,}=*)")
_DELETERS: Final = word_set(
    "remove-item ri rm rmdir rd del erase clear-content clear-item move-item mi move"
)
_LISTERS: Final = word_set("get-childitem gci ls dir get-item gi")
# A drive, a home directory or what the system consists of, with or without all that is in it.
_WINDOWS_PLACE: Final = re.compile(
    r"(?i)(?:[a-z]:|%systemdrive%|\$env:systemdrive|\$env:homedrive)[\\/]*(?:\*|users|windows|winnt|program files(?: \(x86\))?|programdata|boot|efi)?"
    r"[\\/]*(?:\*(?:\.\*)?)?"
    r"|(?:[a-z]:[\\/]+users[\\/]+[^\\/]+|%userprofile%|%systemroot%|%windir%|%appdata%|%programfiles%|\$home|~"
    r"|\$env:(?:userprofile|systemroot|windir|appdata|programfiles|home))[\\/]*(?:\*(?:\.\*)?)?"
    r"|[a-z]:[\\/]+windows[\\/]+(?:system32|syswow64|system).*|hk(?:lm|cu|cr|u):.*|cert:.*"
)
# What no use of them is ordinary for.
_REFUSED: Final = word_set("""
    stop-computer restart-computer clear-disk initialize-disk format-volume remove-partition clear-eventlog
    remove-eventlog disable-computerrestore disable-netadapter remove-netipaddress set-disk remove-volume
    remove-localuser new-localuser add-localgroupmember remove-localgroup enter-pssession new-psdrive remove-computer
    remove-azresourcegroup remove-s3bucket remove-azstorageaccount remove-vm remove-adobject remove-aduser remove-adgroup
    reset-physicaldisk remove-storagepool remove-virtualdisk diskpart clear-recyclebin suspend-bitlocker disable-bitlocker
    remove-wmiobject uninstall-windowsfeature remove-sqldatabase remove-azsqldatabase remove-clusterresource
""")
# The same by their arguments; the words of the statement, joined by blanks, must match as a whole.
_REFUSED_USES: Final = re.compile(
    r"(?i)format(?:\.com)? [a-z]:.*|cipher(?:\.exe)? /w.*|vssadmin(?:\.exe)? .*delete.*|wbadmin(?:\.exe)? .*delete.*"
    r"|wevtutil(?:\.exe)? (?:cl|clear-log) .*|bcdedit(?:\.exe)? /(?:set|delete).*|reg(?:\.exe)? delete .*|schtasks(?:\.exe)? /delete .*\*.*"
    r"|fsutil(?:\.exe)? .*(?:deletejournal|setzerodata|volume dismount).*|takeown(?:\.exe)? (?=.*/r\b).* [a-z]:[\\/]*(?: .*|$)"
    r"|icacls(?:\.exe)? [a-z]:[\\/]*(?:windows\S*|users\S*)? (?=.*/t\b).*|cacls [a-z]:[\\/]* .*|shutdown(?:\.exe)? .*/[srph].*"
    r"|netsh(?:\.exe)? (?:advfirewall|firewall) .*(?:off|disable|reset).*|set-netfirewallprofile .*false.*"
    r"|set-mppreference .*-disable.*|manage-bde .*-(?:off|forcerecovery|wipefreespace).*|mountvol [a-z]: /d.*"
    r"|net(?:\.exe)? (?:user|localgroup) .*/(?:add|delete).*|sc(?:\.exe)? (?:delete|stop) (?:windefend|eventlog|mpssvc|winmgmt).*"
    r"|stop-process (?=.*-force).*-(?:name|id) (?:\*|0|4)(?: .*|$)|taskkill(?:\.exe)? (?=.*/f).*(?:/im \*|/fi .*\bne\b|svchost|lsass|csrss|wininit).*"
    r"|stop-service .*(?:windefend|eventlog|mpssvc|sshd).*|set-executionpolicy .*(?:unrestricted|bypass).*(?:localmachine).*"
    r"|(?:iex|invoke-expression)\b.*(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|curl|wget).*"
    r"|(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget) .*\| *(?:iex|invoke-expression).*"
    r"|wmic(?:\.exe)? .*(?:shadowcopy .*delete|os .*(?:reboot|shutdown)).*|sdelete\S* .*[a-z]:.*|del(?:ete)?prof\S* .*|vssadmin .*resize.*"
)
_DEEPEST: Final = 3
_LONGEST: Final = 10_000


def find_windows_damage(
    text: str, places: CriticalPaths, cwd: str | None, depth: int = 0
) -> Iterator[str]:
    """What statements of PowerShell or cmd would destroy."""
    text = text[:_LONGEST]
    for match in _ENCODED.finditer(text) if depth < _DEEPEST else ():
        with suppress(binascii.Error, ValueError):
            decoded = base64.b64decode(match[1] + "==").decode("utf-16-le")
            yield from find_windows_damage(decoded, places, cwd, depth + 1)
    if _REFUSED_USES.fullmatch(" ".join(text.split())):
        yield text
    for statement in _STATEMENT.split(text):
        listed: Sequence[str] = ()
        for stage in statement.split("|"):
            words = ["".join(match.groups("")) for match in _TOKEN.finditer(stage)]
            words = _without_shell(words)
            if not words:
                continue
            name = words[0].lower().removesuffix(".exe")
            if name in _REFUSED or _REFUSED_USES.fullmatch(" ".join((name, *words[1:]))):
                yield stage.strip()
            targets = [one for one in words[1:] if not re.match(r"-|/\w$", one)]
            if name in _DELETERS:
                lost = (one for one in (*targets, *listed) if _is_dear(one, places, cwd))
                yield from lost
            listed = targets if name in _LISTERS else listed


def _without_shell(words: Sequence[str]) -> list[str]:
    """The words behind `cmd /c` or `powershell -Command` and its options."""
    rest = list(words)
    while rest and re.fullmatch(r"(?i)(?:cmd|powershell|pwsh)(?:\.exe)?|[-/]\w+", rest[0]):
        rest.pop(0)
    return rest


def _is_dear(field: str, places: CriticalPaths, cwd: str | None) -> bool:
    if _WINDOWS_PLACE.fullmatch(field):
        return True
    if not field.startswith(("/", "~", "..")):
        return False
    return places.critical_loss(places.expand_home(field), cwd) is not None
