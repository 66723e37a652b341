"""Code of other languages that saves what another machine sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ADDRESS: Final = re.compile(r"https?://|ftp://")
_TEXT: Final = r"[\"']([^\"'\n]+)[\"']"
# `copy("https://x", "y")`, `urlretrieve(url, "y")`, `getstore($u, "y")`.
_SAVED: Final = re.compile(
    rf"\b(?:copy|urlretrieve|download\w*|getstore|mirror|url-copy-file|wget\.download)\s*\(?\s*[^,()\n]{{1,200}},\s*(?:out\s*=\s*)?{_TEXT}"
)
# A file that is written by code which asks another machine for something.
_ASKS: Final = re.compile(
    r"urlopen|requests\.get|httpx\.get|\bfetch\(|https?\.get|URI\.open|open-uri|Net::HTTP|LWP|file_get_contents\(\s*[\"']https?:|curl_exec|axios"
)
_WRITTEN: Final = re.compile(
    rf"\b(?:open|file_put_contents|writeFile(?:Sync)?|createWriteStream|File\.(?:write|binwrite|open)|Path|fopen)\s*\(\s*{_TEXT}"
)
_LONGEST: Final = 10_000


def downloaded_files(code: str) -> Iterator[str]:
    """The files in which code saves what it downloads."""
    code = code[:_LONGEST]
    if _ADDRESS.search(code) is None:
        return
    yield from _SAVED.findall(code)
    if _ASKS.search(code):
        yield from (one for one in _WRITTEN.findall(code) if "://" not in one)
