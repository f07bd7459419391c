"""The server on Ray Serve, where one machine ends: replicas of it, and Ray's router before them.

    serve run sfumato.server.ray_app:build models=tiny replicas=2

Requests with one `x-session-id` go to one replica, which has their prefix in its cache and their canvas in memory;
others go anywhere. Revisions of canvases are in a database that all replicas reach, so that another replica goes on
where one was lost. Keys count their budgets in each replica for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.serve.config import AutoscalingConfig, RequestRouterConfig

from sfumato.engine.engine import EngineConfig
from sfumato.server.access import Access
from sfumato.server.app import create_app
from sfumato.server.history import History
from sfumato.server.hosting import Host, served_names


class Options(BaseModel):
    """What `serve run sfumato.server.ray_app:build` takes as NAME=VALUE, and the args of a Serve config."""

    model_config = ConfigDict(extra="forbid")
    models: str = "tiny"
    """Names, paths or NAME=MODEL, with commas between them."""
    database: str = "canvases.db"
    """A URL that all replicas reach; a file does on one machine."""
    api_key_file: Path | None = None
    replicas: int | Literal["auto"] = "auto"
    """How many, or as many as the requests in work need."""
    min_replicas: int = Field(default=1, ge=1)
    max_replicas: int = Field(default=8, ge=1)
    cpus: float = Field(default=1, gt=0)
    """Of a replica, and threads that compute in it."""
    gpus: float = Field(default=0, ge=0)
    max_rows: int = Field(default=64, ge=1)
    """Answers of a model in work at once in a replica."""


def build(args: Mapping[str, str]) -> serve.Application:
    """The application for Ray Serve; its arguments are those of `Options`.

    Raises:
        ValidationError: naming the argument that is wrong.
    """
    options = Options.model_validate(args)

    def make_replica() -> FastAPI:
        host = Host(served_names(options.models.split(",")), config=EngineConfig(max_rows=options.max_rows))
        access = None if options.api_key_file is None else Access.read(options.api_key_file)
        return create_app(host, History(options.database), access)

    scaled = {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=options.min_replicas,
            max_replicas=options.max_replicas,
            target_ongoing_requests=options.max_rows / 2,
        )
    }
    deploy = serve.deployment(
        name="sfumato",
        max_ongoing_requests=2 * options.max_rows,
        ray_actor_options={"num_cpus": options.cpus, "num_gpus": options.gpus},
        request_router_config=RequestRouterConfig(
            request_router_class="ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"
        ),
        **(scaled if options.replicas == "auto" else {"num_replicas": options.replicas}),
    )
    return deploy(serve.ingress(make_replica)()).bind()
