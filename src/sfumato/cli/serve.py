"""`sfumato serve` and `sfumato mcp`: serve models over HTTP, or as tools over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import sfumato
from sfumato.cli.options import MODEL_HELP, Weights, complete_model
from sfumato.cli.output import take_stdin
from sfumato.errors import ConfigError
from sfumato.interrupts import NUMBERS

if TYPE_CHECKING:
    import uvicorn

    from sfumato.server.hosting import Host

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Seconds in which clients may read the ends of streams that are cut off.
_CUT_OFF_S = 5


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help=f"{MODEL_HELP} Or NAME=MODEL. The first one is the default; tiny if none is given.",
            autocompletion=complete_model,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    api_keys: Annotated[
        Path | None, typer.Option("--api-key-file", help="TOML file of API keys, created by --add-key.")
    ] = None,
    add_key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Create a key, print it, store its hash in --api-key-file, and exit."),
    ] = None,
    requests_per_minute: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --add-key: budget in requests.")
    ] = None,
    positions_per_day: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --add-key: budget in positions computed, the unit of cost."),
    ] = None,
    without_keys: Annotated[
        bool,
        typer.Option("--without-keys", help="Serve under any host name, and beyond this machine, without API keys."),
    ] = False,
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Answers computed at once, per model; others wait.")
    ] = 64,
    max_queue: Annotated[
        int, typer.Option(min=1, metavar="N", help="Answers that may wait; more are refused with 429.")
    ] = 1024,
    memory: Annotated[
        float | None,
        typer.Option(min=0.001, metavar="GB", help="Gigabytes for weights; default: half of the free memory."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(help="Where to store canvases: a file or an SQLAlchemy URL; default: in the cache directory."),
    ] = None,
    keep_days: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Delete canvases older than this.")
    ] = None,
    max_body: Annotated[
        int, typer.Option(min=1024, metavar="BYTES", help="Maximum size of a request in bytes.")
    ] = 4_000_000,
    cors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN", help="Allow requests by pages of this origin, such as http://localhost:3000. Repeatable."
        ),
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL#MODEL,key=VARIABLE",
            help="Forward requests for NAME to another OpenAI-compatible server, such as "
            "https://host/v1, with a key from the environment. #MODEL is its name there, if "
            "different. Repeatable.",
        ),
    ] = None,
    images: Annotated[
        str,
        typer.Option(
            metavar="svg|URL|diffusers:MODEL",
            help="Source of pictures: placeholder patterns, another OpenAI-compatible server (as for "
            "--upstream), or a diffusers pipeline.",
        ),
    ] = "svg",
    speech: Annotated[
        Path | None,
        typer.Option(
            help="Whisper model in CTranslate2 format for speech; default: the one from the extra speech, if installed."
        ),
    ] = None,
    ssl_certfile: Annotated[Path | None, typer.Option(help="Certificate in PEM format, to serve HTTPS.")] = None,
    ssl_keyfile: Annotated[
        Path | None, typer.Option(help="The certificate's key; default: in the same file as the certificate.")
    ] = None,
    show_studio: Annotated[bool, typer.Option("--studio/--no-studio", help="Serve the studio at /.")] = True,
    drain_seconds: Annotated[
        int, typer.Option(min=0, metavar="SECONDS", help="Time for running answers to finish after SIGTERM.")
    ] = 30,
    weights: Weights = Weights(),
) -> None:
    """Serve models over HTTP.

    The API is compatible with OpenAI's and Mercury's, and adds canvases that clients can follow and revise.
    """
    try:
        import uvicorn

        from sfumato.server.access import Access
        from sfumato.server.access import add_key as make_key
        from sfumato.server.app import create_app
        from sfumato.server.boundary import Limits
        from sfumato.server.history import History
        from sfumato.server.hosting import Host, parse_names
        from sfumato.server.speech import find_speech
        from sfumato.server.studio import Studio
        from sfumato.server.upstream import read_upstream
    except ImportError as error:
        raise ConfigError("the server needs more packages: pip install 'sfumato[server]'") from error
    if add_key is not None:
        if api_keys is None:
            raise ConfigError("--add-key needs a file: --api-key-file FILE")
        budgets = {"requests_per_minute": requests_per_minute, "positions_per_day": positions_per_day}
        typer.echo(make_key(api_keys, add_key, budgets))
        return
    if requests_per_minute is not None or positions_per_day is not None:
        raise ConfigError("--requests-per-minute or --positions-per-day is given; allowed: only with --add-key")
    if ssl_keyfile is not None and ssl_certfile is None:
        raise ConfigError("--ssl-keyfile is given; allowed: only with --ssl-certfile")
    if host not in _LOOPBACK and api_keys is None and not without_keys:
        raise ConfigError(
            f"host is {host!r}, which other machines can reach; allowed: with --api-key-file "
            "FILE, or with --without-keys"
        )
    from sfumato.checkpoints.registry import cache_directory
    from sfumato.engine.engine import EngineConfig
    from sfumato.machine import free_memory

    access = Access(path=api_keys)
    hosting = Host(
        parse_names(models or ["tiny"]),
        config=EngineConfig(max_rows=max_rows, max_queue=max_queue),
        memory_bytes=free_memory() / 2 if memory is None else memory * 1e9,
        settings=weights.settings(),
        upstreams=[read_upstream(given) for given in upstream or ()],
    )
    history = History(database or cache_directory() / "canvases.db")
    keep_s = None if keep_days is None else keep_days * 86400
    hosts = _LOOPBACK if host in _LOOPBACK and api_keys is None and not without_keys else None
    limits = Limits(max_body_bytes=max_body, cors_origins=tuple(cors or ()), hosts=hosts, keep_s=keep_s)
    studio = Studio() if show_studio else None
    app = create_app(
        hosting, history, access, limits, preload=False, studio=studio, images=images, speech=find_speech(speech)
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # Of uvicorn's two parsers, the one that limits the size of headers.
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="h11",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_CUT_OFF_S,
        ssl_certfile=ssl_certfile,
        ssl_keyfile=ssl_keyfile,
    )
    try:
        config.load()
    except OSError as error:
        raise ConfigError(f"cannot use the certificate {ssl_certfile}: {error.strerror or error}") from None
    asyncio.run(_serve(config, hosting, drain_seconds, shown=studio is not None and studio.is_built))


async def _run(server: uvicorn.Server) -> None:
    """Run a server; return at once if it cannot listen, for which uvicorn would end the program."""
    with contextlib.suppress(SystemExit):
        await server._serve()


async def _serve(config: uvicorn.Config, hosting: Host, drain_seconds: float, *, shown: bool) -> None:
    """Serve until a signal; then wait until running answers finish. When time is up or a second signal comes, they end
    with what they have.

    Args:
        shown: whether the studio is served.
    """
    import uvicorn

    server, state, loop = uvicorn.Server(config), config.app.state, asyncio.get_running_loop()  # type: ignore[union-attr]
    stopping = asyncio.Event()

    def stop() -> None:
        server.should_exit = stopping.is_set()
        stopping.set()

    with contextlib.ExitStack() as stack:
        for number in NUMBERS:
            loop.add_signal_handler(number, stop)
            stack.callback(loop.remove_signal_handler, number)
        serving = asyncio.ensure_future(_run(server))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if serving.done():
            raise ConfigError(
                f"cannot listen on {config.host}:{config.port}; allowed: a free port (--port 0 finds one) on an "
                "address of this machine"
            )
        address, port = server.servers[0].sockets[0].getsockname()[:2]
        url = f"{'https' if config.is_ssl else 'http'}://{f'[{address}]' if ':' in address else address}:{port}"
        typer.echo(f"{url} serves {', '.join((*hosting.names, *hosting.upstreams))}", err=True)
        if shown:
            typer.echo(f"open {url}/ in a browser for the studio", err=True)
        loading = asyncio.ensure_future(hosting.use(hosting.default))
        waiting = asyncio.ensure_future(stopping.wait())
        await asyncio.wait({loading, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done() and loading.exception() is None:
            state.ready = True
            await waiting
        state.ready, state.ending = False, True
        end = loop.time() + drain_seconds
        while state.is_busy() and loop.time() < end and not server.should_exit:
            await asyncio.sleep(0.02)
        if state.is_busy():
            await state.cut_off()
        server.should_exit = True
        await serving
        if loading.done():
            loading.result()


def mcp(
    model: Annotated[str, typer.Argument(help=MODEL_HELP, autocompletion=complete_model)] = "tiny",
    mender: Annotated[str, typer.Option(help="Model for the mend tool.")] = "mend",
    weights: Weights = Weights(),
) -> None:
    """Run an MCP server over stdin and stdout.

    Its tools are generate, infill, edit, decide and mend.
    """
    try:
        from sfumato.integrations.mcp_server import make_server
    except ImportError as error:
        raise ConfigError("the MCP server needs more packages: pip install 'sfumato[mcp]'") from error
    from sfumato.mend.mender import load_mender
    from sfumato.server.hosting import Host, parse_names

    take_stdin("the messages of an MCP client")
    host = Host(parse_names([model]), settings=weights.settings())
    make_server(host, lambda: load_mender(mender), sfumato.__version__).run("stdio")
