"""A FastMCP server with one tool of each kind that matters to a gateway, over streamable HTTP on loopback.

Usage: python fastmcp_server.py [PORT]
Prints "listening on 127.0.0.1:<port>" once the port is bound. Without PORT, or with 0, the system picks a free one.
"""

import asyncio
import socket
import sys

from fastmcp import Context, FastMCP

server = FastMCP("fastmcp-peer", version="4.5.6", instructions="Adds, echoes, counts and asks.")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two numbers and answers with structured content."""
    return a + b


@server.tool
def echo(message: str) -> str:
    """Says the message again, byte for byte."""
    return message


@server.tool
async def count(to: int, context: Context) -> str:
    """Counts, with a progress notification for each step."""
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool
def fail() -> str:
    """Always fails."""
    raise ValueError("this tool always fails")


@server.prompt
def review(code: str) -> str:
    """Asks for a review of some code."""
    return f"Review this: {code}"


@server.resource("peer://greeting")
def greeting() -> str:
    """A fixed text."""
    return "hello from fastmcp"


@server.resource("peer://square/{number}")
def square(number: int) -> str:
    """The square of the number in the address."""
    return str(number * number)


def main() -> None:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    bound.listen(128)
    port = bound.getsockname()[1]
    print(f"listening on 127.0.0.1:{port}", flush=True)
    asyncio.run(
        server.run_http_async(show_banner=False, host="127.0.0.1", port=port, sockets=[bound], log_level="warning")
    )


if __name__ == "__main__":
    main()
