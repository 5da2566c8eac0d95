"""A client made with the Python SDK 1.x: connects, lists everything, does what it is told, prints one JSON line.

Usage: .venv-1/bin/python python1_client.py URL TOKEN [PLAN]
PLAN is a JSON object, each member optional: {"tool", "arguments", "prompt", "prompt_arguments", "resource"}.
TOKEN may be "-" for none. Exit status 1 and a traceback on stderr when anything fails.
"""

from datetime import timedelta

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

import peer
from peer import plain


async def converse(url: str, token: str, plan: dict) -> dict:
    async with (
        streamablehttp_client(url, headers=peer.headers(token)) as (read, write, session_id),
        ClientSession(
            read,
            write,
            read_timeout_seconds=timedelta(seconds=peer.DEADLINE_SECONDS),
            sampling_callback=peer.sample,
            elicitation_callback=peer.elicit,
            list_roots_callback=peer.roots,
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
            seen["called"] = plain(await client.call_tool(plan["tool"], arguments, progress_callback=peer.count_progress))
        if "prompt" in plan:
            seen["prompt"] = plain(await client.get_prompt(plan["prompt"], plan.get("prompt_arguments", {})))
        if "resource" in plan:
            seen["resource"] = plain(await client.read_resource(AnyUrl(plan["resource"])))
    return seen


if __name__ == "__main__":
    peer.run(converse)
