"""A client made with the Python SDK 1.x: connects, lists everything, does what it is told, prints one JSON line.

Usage: .venv-1/bin/python python1_client.py URL TOKEN [PLAN]
PLAN is a JSON object, each member optional: {"tool", "arguments", "prompt", "prompt_arguments", "resource"}.
TOKEN may be "-" for none. Exit status 1 and a traceback on stderr when anything fails.
"""

import asyncio
import json
import sys
from datetime import timedelta

from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

DEADLINE = timedelta(seconds=30)
asked: list[str] = []
progress = 0


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
    global progress
    progress += 1


def plain(model) -> dict:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def converse(url: str, token: str, plan: dict) -> dict:
    headers = {} if token == "-" else {"Authorization": f"Bearer {token}"}
    async with (
        streamablehttp_client(url, headers=headers) as (read, write, session_id),
        ClientSession(
            read,
            write,
            read_timeout_seconds=DEADLINE,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
        ) as client,
    ):
        greeting = await client.initialize()
        offers = greeting.capabilities
        lists = [
            ("tools", offers.tools, client.list_tools, lambda page: [item.name for item in page.tools]),
            ("prompts", offers.prompts, client.list_prompts, lambda page: [item.name for item in page.prompts]),
            ("resources", offers.resources, client.list_resources, lambda page: [str(item.uri) for item in page.resources]),
            (
                "templates",
                offers.resources,
                client.list_resource_templates,
                lambda page: [item.uriTemplate for item in page.resourceTemplates],
            ),
        ]
        seen = {
            "protocol": greeting.protocolVersion,
            "server": plain(greeting.serverInfo),
            "session": session_id(),
        }
        for name, offered, ask, items in lists:
            seen[name] = items(await ask()) if offered else []
        if "tool" in plan:
            arguments = plan.get("arguments", {})
            seen["called"] = plain(await client.call_tool(plan["tool"], arguments, progress_callback=count_progress))
        if "prompt" in plan:
            seen["prompt"] = plain(await client.get_prompt(plan["prompt"], plan.get("prompt_arguments", {})))
        if "resource" in plan:
            seen["resource"] = plain(await client.read_resource(AnyUrl(plan["resource"])))
    return seen | {"asked": asked, "progress": progress}


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: python1_client.py URL TOKEN [PLAN]")
    plan = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    print(json.dumps(asyncio.run(converse(sys.argv[1], sys.argv[2], plan))))


if __name__ == "__main__":
    main()
