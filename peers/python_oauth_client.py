"""A client made with the Python SDK that has no token: it finds the authorization server, registers, signs in in a
browser (played here), calls tools, and asks for more scopes when a tool needs them. Prints one JSON line.

Usage: python python_oauth_client.py URL - PLAN     PLAN: {"tools": ["first", "second"]}
"""

import asyncio
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

import peer
from peer import plain

REDIRECT = "http://127.0.0.1:1/callback"
MAX_STEPS = 20


class Keeper:
    """Keeps what the SDK wants kept."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    """A browser as far as signing in needs one: it follows redirects and keeps cookies."""

    def __init__(self):
        self.scopes, self.told = [], {}

    async def open(self, where: str) -> None:
        self.scopes.append(parse_qs(urlsplit(where).query).get("scope", [None])[0])
        async with httpx2.AsyncClient() as http:
            for _ in range(MAX_STEPS):
                if where.startswith(REDIRECT):
                    self.told = {name: values[0] for name, values in parse_qs(urlsplit(where).query).items()}
                    return
                answer = await http.get(where)
                where = urljoin(where, answer.headers["location"])
        raise RuntimeError("signing in led nowhere")

    async def code(self) -> AuthorizationCodeResult:
        told = self.told
        return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))


async def converse(url: str, _token: str, plan: dict) -> dict:
    browser = Browser()
    metadata = OAuthClientMetadata(
        client_name="python-peer", redirect_uris=[REDIRECT], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(url, metadata, Keeper(), browser.open, browser.code)
    async with create_mcp_http_client(auth=auth) as http:
        client = Client(
            streamable_http_client(url, http_client=http),
            mode=plan.get("mode", "auto"),
            read_timeout_seconds=peer.DEADLINE_SECONDS,
        )
        async with client:
            tools = [item.name for item in (await client.list_tools()).tools]
            called = [plain(await client.call_tool(name, {})) for name in plan["tools"]]
            # A list may be kept for a second.
            await asyncio.sleep(1.5)
            after = [item.name for item in (await client.list_tools()).tools]
    return {"tools": tools, "called": called, "after": after, "scopes": browser.scopes}


if __name__ == "__main__":
    peer.run(converse)
