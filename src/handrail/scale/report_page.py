"""The report of a fleet as one HTML file without scripts or external resources."""

from __future__ import annotations

from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any, Final

from handrail.core.text.safe_text import safe_text
from handrail.scale import messages
from handrail.scale.journal import FleetJournal
from handrail.scale.report import FleetReport, progress_text
from handrail.scale.state import FleetState

_MOST_TEXT: Final = 300
_HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Fleet report</title><style>
body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #d0d7de;padding:.3rem .6rem;
text-align:left;vertical-align:top}th{background:#f6f8fa}.good{color:#116329}.bad{color:#a40e26}
td.number{text-align:right;font-variant-numeric:tabular-nums}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}
th{background:#161b22}.good{color:#3fb950}.bad{color:#ff7b72}}
</style></head><body>
"""


def write_page(path: Path, report: FleetReport, state: FleetState) -> None:
    """Write the page; raises `unavailable`."""
    try:
        with (
            closing(FleetJournal(state.directory, read_only=True)) as journal,
            path.open("w", encoding="utf-8") as file,
        ):
            file.write(f"{_HEAD}<h1>Fleet report</h1><p>{_text(progress_text(report))}</p>\n")
            file.write(_tenant_table(report))
            columns = ("task", "tenant", "status", "checks", "files", "tokens", "s", "outcome")
            heads = "".join(f"<th>{name}</th>" for name in columns)
            file.write(f"<table><thead><tr>{heads}</tr></thead><tbody>\n")
            # One row at a time, because a fleet may have many tasks.
            file.writelines(_row(result) for result in journal.results())
            file.write("</tbody></table></body></html>\n")
    except OSError as error:
        reason = error.strerror or error
        raise messages.PAGE_FAILED.error(path=str(path), reason=reason) from error


def _tenant_table(report: FleetReport) -> str:
    columns = ("waiting", "running", "ended", "passed")
    heads = "".join(f"<th>{name}</th>" for name in ("tenant", *columns))
    rows = "".join(
        f"<tr><td>{_text(name)}</td>"
        + "".join(f'<td class="number">{tenant_counts[column]:,}</td>' for column in columns)
        + "</tr>"
        for name, tenant_counts in report.counts.by_tenant.items()
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>\n"


def _row(result: dict[str, Any]) -> str:
    usage, problem = result["usage"], result["problem"] or {}
    good = sum(check["exit_code"] == 0 for check in result["checks"])
    outcome = problem.get("message") or result["text"]
    if result["unknown_calls"]:
        outcome = f"unknown calls: {', '.join(result['unknown_calls'])}; {outcome}"
    cells = [
        f"<td>{_text(result['id'])}</td><td>{_text(result['tenant'])}</td>",
        f'<td class="{"good" if result["passed"] else "bad"}">{_text(result["status"])}</td>',
        f"<td>{good} of {len(result['checks'])}</td>" if result["checks"] else "<td></td>",
        f'<td class="number">{result["change_count"]:,}</td>',
        f'<td class="number">{usage["input_tokens"] + usage["output_tokens"]:,}</td>',
        f'<td class="number">{result["seconds"]:,.1f}</td>',
        f"<td>{_text(outcome[:_MOST_TEXT])}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _text(text: str) -> str:
    return escape(safe_text(text))
