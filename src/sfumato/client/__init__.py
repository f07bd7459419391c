"""Python client for Sfumato's HTTP server.

with Client("http://127.0.0.1:8000") as client:
    print(client.generate("sums: 12+35, 81/3", seed=0).text)
"""

from __future__ import annotations

from sfumato.client.client import AsyncCanvas, AsyncClient, Canvas, Client
from sfumato.client.protocol import Answer, ClientOptions, Draft, ModelCard, Revision
from sfumato.errors import ServerError, StaleRevisionError, UnreachableError

__all__ = [
    "Answer",
    "AsyncCanvas",
    "AsyncClient",
    "Canvas",
    "Client",
    "ClientOptions",
    "Draft",
    "ModelCard",
    "Revision",
    "ServerError",
    "StaleRevisionError",
    "UnreachableError",
]
