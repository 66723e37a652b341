"""Stub."""

from __future__ import annotations

from handrail.tools._lib.matching.blocks import Block
from handrail.tools._lib.matching.candidates import Candidate
from handrail.tools._lib.matching.lines import FileLines


def drifted(file: FileLines, block: Block) -> list[Candidate]:
    return []
