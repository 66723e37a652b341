"""What a model pays for being shown the default tools, per dialect: tokens of the o200k vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import handrail

DIALECTS = ("canonical", "claude", "codex", "architect")
LIMIT = 4_000


async def count(folder: Path) -> dict[str, dict[str, int]]:
    """Dialect → how many tools and tokens it shows; {} where the vocabulary is not installed."""
    try:
        import bpe_openai
    except ImportError:
        return {}
    encoding = bpe_openai.get_encoding("o200k_base")
    folder.mkdir()
    counts = {}
    for dialect in DIALECTS:
        async with handrail.open(folder, dialect=dialect, store=":memory:") as rt:
            tools = rt.declare("openai")
        text = json.dumps(tools, separators=(",", ":"), ensure_ascii=False)
        counts[dialect] = {"tools": len(tools), "tokens": len(encoding.encode(text))}
    return counts


def table(counts: dict[str, dict[str, int]]) -> str:
    """One line per dialect."""
    lines = [f"\nschema tokens shown to a model (limit {LIMIT})"]
    if not counts:
        lines.append("  not measured: needs the package bpe-openai")
    lines += [
        f"  {name:10} {each['tools']:3} tools {each['tokens']:6} tokens"
        for name, each in counts.items()
    ]
    return "\n".join(lines)
