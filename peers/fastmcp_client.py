"""A client made with FastMCP 4: connects, lists everything, does what it is told, prints one JSON line.

Usage: .venv/bin/python fastmcp_client.py URL TOKEN [PLAN]
PLAN is a JSON object, each member optional: {"tool", "arguments", "prompt", "prompt_arguments", "resource"}.
TOKEN may be "-" for none. Exit status 1 and a traceback on stderr when anything fails.
"""

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

import peer


async def sample(messages, params, context) -> str:
    peer.asked.append("sampling/createMessage")
    return "sampled by the client"


def plain(model):
    if isinstance(model, list):
        return [plain(item) for item in model]
    return peer.plain(model) if hasattr(model, "model_dump") else model


async def converse(url: str, token: str, plan: dict) -> dict:
    transport = StreamableHttpTransport(url, headers=peer.headers(token))
    client = Client(transport, sampling_handler=sample, timeout=peer.DEADLINE_SECONDS)
    async with client:
        seen = {
            "tools": [item.name for item in await client.list_tools()],
            "prompts": [item.name for item in await client.list_prompts()],
            "resources": [str(item.uri) for item in await client.list_resources()],
        }
        if "tool" in plan:
            arguments = plan.get("arguments", {})
            answer = await client.call_tool(plan["tool"], arguments, progress_handler=peer.count_progress)
            seen["called"] = plain(answer.content)
        if "prompt" in plan:
            answer = await client.get_prompt(plan["prompt"], plan.get("prompt_arguments", {}))
            seen["prompt"] = plain(answer.messages)
        if "resource" in plan:
            seen["resource"] = plain(await client.read_resource(plan["resource"]))
    return seen


if __name__ == "__main__":
    peer.run(converse)
