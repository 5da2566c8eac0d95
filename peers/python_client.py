"""A client made with the Python SDK: connects, lists everything, does what it is told, prints one JSON line.

Usage: python python_client.py URL TOKEN [PLAN]
PLAN is a JSON object, each member optional: {"mode", "tool", "arguments", "prompt", "prompt_arguments", "resource"}.
"mode" is the SDK's: "auto" (asks for the modern era first, the default) or "legacy".
TOKEN may be "-" for none. Exit status 1 and a traceback on stderr when anything fails.
"""

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

import peer
from peer import plain


async def read_all(offered, ask, member: str) -> list:
    """Reads all pages of one list; a server without that kind of item has none."""
    items, cursor = [], None
    while offered:
        page = await ask(cursor=cursor)
        items += getattr(page, member)
        cursor = page.next_cursor
        if not cursor:
            break
    return items


async def converse(url: str, token: str, plan: dict) -> dict:
    async with create_mcp_http_client(headers=peer.headers(token)) as http:
        client = Client(
            streamable_http_client(url, http_client=http),
            mode=plan.get("mode", "auto"),
            sampling_callback=peer.sample,
            elicitation_callback=peer.elicit,
            list_roots_callback=peer.roots,
            read_timeout_seconds=peer.DEADLINE_SECONDS,
        )
        async with client:
            offers = client.server_capabilities
            seen = {
                "protocol": client.protocol_version,
                "server": plain(client.server_info) if client.server_info else None,
                "tools": [item.name for item in await read_all(offers.tools, client.list_tools, "tools")],
                "prompts": [item.name for item in await read_all(offers.prompts, client.list_prompts, "prompts")],
                "resources": [str(item.uri) for item in await read_all(offers.resources, client.list_resources, "resources")],
                "templates": [
                    item.uri_template
                    for item in await read_all(offers.resources, client.list_resource_templates, "resource_templates")
                ],
            }
            if "tool" in plan:
                arguments = plan.get("arguments", {})
                seen["called"] = plain(
                    await client.call_tool(plan["tool"], arguments, progress_callback=peer.count_progress)
                )
            if "prompt" in plan:
                seen["prompt"] = plain(await client.get_prompt(plan["prompt"], plan.get("prompt_arguments", {})))
            if "resource" in plan:
                seen["resource"] = plain(await client.read_resource(plan["resource"]))
    return seen


if __name__ == "__main__":
    peer.run(converse)
