"""What the Python clients share: the answers to a server's questions, what was counted, and the command line."""

import asyncio
import json
import sys

from mcp import types

DEADLINE_SECONDS = 30
asked: list[str] = []
reports: list[float] = []


async def sample(context, params) -> types.CreateMessageResult:
    asked.append("sampling/createMessage")
    content = types.TextContent(type="text", text="sampled by the client")
    return types.CreateMessageResult(role="assistant", model="peer-model", content=content)


async def elicit(context, params) -> types.ElicitResult:
    asked.append("elicitation/create")
    return types.ElicitResult(action="decline")


async def roots(context) -> types.ListRootsResult:
    asked.append("roots/list")
    return types.ListRootsResult(roots=[types.Root(uri="file:///peer", name="peer")])


async def count_progress(done: float, total: float | None, message: str | None) -> None:
    reports.append(done)


def headers(token: str) -> dict[str, str]:
    """The headers of every request; the token "-" stands for none."""
    return {} if token == "-" else {"Authorization": f"Bearer {token}"}


def plain(model) -> dict:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def run(converse) -> None:
    """Does what the command line says and prints what was seen, asked and reported as one JSON line."""
    if len(sys.argv) < 3:
        sys.exit(f"usage: python {sys.argv[0]} URL TOKEN [PLAN]")
    plan = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    seen = asyncio.run(converse(sys.argv[1], sys.argv[2], plan))
    print(json.dumps(seen | {"asked": asked, "progress": len(reports)}))
