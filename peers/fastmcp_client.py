"""A client made with FastMCP 4: connects, lists everything, does what it is told, prints one JSON line.

Usage: .venv/bin/python fastmcp_client.py URL TOKEN [PLAN]
PLAN is a JSON object, each member optional: {"tool", "arguments", "prompt", "prompt_arguments", "resource"}.
TOKEN may be "-" for none. Exit status 1 and a traceback on stderr when anything fails.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

DEADLINE_SECONDS = 30
asked: list[str] = []
progress = 0


async def sample(messages, params, context) -> str:
    asked.append("sampling/createMessage")
    return "sampled by the client"


async def count_progress(done: float, total: float | None, message: str | None) -> None:
    global progress
    progress += 1


def plain(model):
    if isinstance(model, list):
        return [plain(item) for item in model]
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(model, "model_dump") else model


async def converse(url: str, token: str, plan: dict) -> dict:
    headers = {} if token == "-" else {"Authorization": f"Bearer {token}"}
    client = Client(StreamableHttpTransport(url, headers=headers), sampling_handler=sample, timeout=DEADLINE_SECONDS)
    async with client:
        seen = {
            "tools": [item.name for item in await client.list_tools()],
            "prompts": [item.name for item in await client.list_prompts()],
            "resources": [str(item.uri) for item in await client.list_resources()],
        }
        if "tool" in plan:
            arguments = plan.get("arguments", {})
            answer = await client.call_tool(plan["tool"], arguments, progress_handler=count_progress)
            seen["called"] = plain(answer.content)
        if "prompt" in plan:
            answer = await client.get_prompt(plan["prompt"], plan.get("prompt_arguments", {}))
            seen["prompt"] = plain(answer.messages)
        if "resource" in plan:
            seen["resource"] = plain(await client.read_resource(plan["resource"]))
    return seen | {"asked": asked, "progress": progress}


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: fastmcp_client.py URL TOKEN [PLAN]")
    plan = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    print(json.dumps(asyncio.run(converse(sys.argv[1], sys.argv[2], plan))))


if __name__ == "__main__":
    main()
