"""A server of fastmcp for tests. Run with `stdio`, or with the port for HTTP."""

from __future__ import annotations

import sys
from io import BytesIO

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image as Picture
from PIL import Image

server = FastMCP("fast")


@server.tool
def add(a: int, b: int) -> dict[str, int]:
    """Adds."""
    return {"sum": a + b}


@server.tool
async def progress(ctx: Context) -> str:
    """Reports its progress."""
    await ctx.report_progress(1, 2, "half")
    return "progress"


@server.tool
async def hang() -> str:
    """Takes forever."""
    await anyio.sleep_forever()
    return "never"


@server.tool
def picture() -> Picture:
    """Returns a picture."""
    file = BytesIO()
    Image.new("RGB", (2000, 10), "red").save(file, "PNG")
    return Picture(data=file.getvalue(), format="png")


@server.tool
async def ask(ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit("Who?", response_type=str)
    return f"hello {getattr(answer, 'data', answer)}"


def extra() -> str:
    """Does more."""
    return "extra"


@server.tool
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(extra)
    await ctx.send_notification(types.ToolListChangedNotification())
    return "grown"


if sys.argv[1] == "stdio":
    server.run(show_banner=False)
else:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
