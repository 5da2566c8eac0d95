"""A server made with the Python SDK 1.x, with one tool of each kind that matters to a gateway.

Usage: .venv-1/bin/python python1_server.py [stateful|stateless] [PORT]
Prints "listening on 127.0.0.1:<port>" once the port is bound. Without PORT, or with 0, the system picks a free one.
"""

import asyncio
import socket
import sys

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("python1-peer", log_level="WARNING", stateless_http=sys.argv[1:2] == ["stateless"])


class Colour(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers and answers with structured content."""
    return a + b


@server.tool()
def echo(message: str) -> str:
    """Says the message again, byte for byte."""
    return message


@server.tool()
async def count(to: int, context: Context) -> str:
    """Counts, with a progress notification for each step."""
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool()
async def ask(context: Context) -> str:
    """Asks the user."""
    answer = await context.elicit("Which colour?", Colour)
    return f"the user said {answer.action}"


@server.prompt()
def review(code: str) -> str:
    """Asks for a review of some code."""
    return f"Review this: {code}"


@server.resource("peer://greeting")
def greeting() -> str:
    """A fixed text."""
    return "hello from python 1"


@server.resource("peer://square/{number}")
def square(number: int) -> str:
    """The square of the number in the address."""
    return str(int(number) * int(number))


def main() -> None:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    bound.listen(128)
    print(f"listening on 127.0.0.1:{bound.getsockname()[1]}", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))


if __name__ == "__main__":
    main()
