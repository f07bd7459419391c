"""The server's models: loaded on first use, each with an engine, within a memory limit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.api import DTYPES, load, outline
from sfumato.checkpoints.load import preparation_of
from sfumato.checkpoints.registry import find_model, open_checkpoint
from sfumato.engine.async_engine import AsyncEngine
from sfumato.engine.engine import Engine, EngineConfig
from sfumato.engine.model import TextModel
from sfumato.engine.request import Request, Result
from sfumato.errors import ConfigError, RequestError, unknown
from sfumato.models.quantization.weights import QUANTIZATIONS
from sfumato.server.compiling import Compiler
from sfumato.server.failures import ApiError

if TYPE_CHECKING:
    from sfumato.server.upstream import Upstream

logger = logging.getLogger("sfumato.server")
Answer = TypeVar("Answer")
Bill = Callable[[list[Result]], object]
"""Called with results that have a cost."""
MAX_EDITED, MAX_READ = 200_000, 20_000
"""Maximum characters of a text to edit, and of one that a model reads as a whole."""


class HostedModel:
    """A loaded model and its engine."""

    def __init__(self, name: str, model: TextModel, engine: Engine) -> None:
        self.name, self.model = name, model
        self.answering = AsyncEngine(engine)
        self.size_bytes = sum(
            tensor.numel() * tensor.element_size() for tensor in (*model.decoder.parameters(), *model.decoder.buffers())
        )
        self.scoring = asyncio.Lock()
        """Held while a likelihood is computed outside the engine: one at a time."""
        self.num_users = 0
        self.used_at = 0.0
        self._compiler = Compiler(model.languages.token_bytes, model.languages.eos_ids)
        model.languages.make = self._compiler.make

    async def start(self) -> None:
        """Start answering, after compiling what answers need, so that no answer waits for it."""
        await self.answering.__aenter__()
        await _run_aside(lambda: list(self.answering.engine.run(self._first_requests())))

    def _first_requests(self) -> list[Request]:
        regex, prompt = "[ab]{2}", (self.model.tokenizer.eos_ids[0],)
        return [self.model.request(prompt, max_tokens=4, steps=2, regex=regex, temperature=each) for each in (0.0, 1.0)]

    async def close(self) -> None:
        """End all requests, the engine and its helpers."""
        await self.answering.close()
        await asyncio.to_thread(self._compiler.close)

    async def edit(self, text: str, *, on_left: Bill | None = None, **options: Any) -> Result:
        """Run `TextModel.edit`; `on_left` as for `call`."""
        limit = MAX_READ if options.get("spans") is None else MAX_EDITED
        if len(text) > limit:
            hint = "" if limit == MAX_EDITED else f", or {MAX_EDITED:,} if spans say what to rewrite"
            raise RequestError(f"text has {len(text):,} characters; allowed: {limit:,}{hint}")
        return await self.call(lambda model: model.edit(text, **options), on_left)

    async def call(self, function: Callable[[TextModel], Answer], on_left: Bill | None = None) -> Answer:
        """Run a function of the model in a thread, see `AsyncEngine.call`."""
        return await self.answering.call(self.model, function, on_left=on_left)


class Host:
    """The models of a server.

    Args:
        names: served models: the name in requests, and the argument of `sfumato.load`.
        memory_bytes: limit for weights; idle models are unloaded to make room.
        settings: further arguments of `sfumato.load`.

    Raises:
        CheckpointError: if a model does not exist or generates no text.
        ConfigError: if two models have the same name.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        *,
        config: EngineConfig | None = None,
        memory_bytes: float = float("inf"),
        settings: Mapping[str, Any] | None = None,
        upstreams: Iterable[Upstream] = (),
    ) -> None:
        self.names = dict(names)
        self.upstreams = {upstream.name: upstream for upstream in upstreams}
        if twice := self.names.keys() & self.upstreams.keys():
            raise ConfigError(f"two models are called {min(twice)!r}; allowed: another name for the upstream one")
        self.outlines: dict[str, TextModel] = {name: outline(source) for name, source in names.items()}
        """The models without their weights."""
        self.loaded: dict[str, HostedModel] = {}
        self.created = int(time.time())
        self._config, self._memory_bytes, self._settings = config, memory_bytes, dict(settings or {})
        self._loading = asyncio.Lock()

    @property
    def default(self) -> str:
        """The first model named."""
        return next(iter(self.names))

    def check(self, name: str) -> TextModel:
        """A model without its weights; unknown ones (404) and those on another server (400) are refused."""
        if name in self.upstreams:
            message = f"model {name!r} is on another server; allowed: /v1/chat/completions and /v1/completions"
            raise ApiError(400, message, code="model_is_upstream", param="model")
        if name not in self.names:
            raise ApiError(
                404, unknown("model", name[:100], [*self.names, *self.upstreams]), code="model_not_found", param="model"
            )
        return self.outlines[name]

    @contextmanager
    def _using(self, hosted: HostedModel) -> Iterator[HostedModel]:
        hosted.num_users += 1
        try:
            yield hosted
        finally:
            hosted.num_users -= 1
            hosted.used_at = time.monotonic()

    async def use(self, name: str) -> AbstractContextManager[HostedModel]:
        """A context in which a model is loaded and stays loaded; 503 if all memory is in use."""
        self.check(name)
        if not self._answers(name):
            # A client that leaves meanwhile does not interrupt this: half a model would keep its thread and process.
            await asyncio.shield(asyncio.ensure_future(self._load_once(name)))
        return self._using(self.loaded[name])

    async def _load_once(self, name: str) -> None:
        async with self._loading:
            if not self._answers(name):
                if name in self.loaded:
                    # An internal error has stopped its engine; load it again.
                    await self.loaded.pop(name).close()
                self.loaded[name] = await self._load(name)

    def _answers(self, name: str) -> bool:
        return name in self.loaded and not self.loaded[name].answering.failed

    async def _load(self, name: str) -> HostedModel:
        if self.loaded:
            await self._make_room(name, await _run_aside(lambda: self._expected_bytes(name)))
        model = await _run_aside(lambda: load(self.names[name], **self._settings))
        # Answers and figures have the name under which it is served.
        model.name, model.bundle = name, replace(model.bundle, name=name)
        hosted = HostedModel(name, model, Engine(model, self._config))
        try:
            await self._make_room(name, hosted.size_bytes)
            await hosted.start()
        except BaseException:
            await hosted.close()
            raise
        return hosted

    def _expected_bytes(self, name: str) -> int:
        """Bytes of a model's weights, roughly: what is not quantized, and scales, are counted as the rest."""
        if (quantize := self._settings.get("quantize")) is not None:
            bits: int = QUANTIZATIONS[quantize].bits
        elif (prepared := preparation_of(open_checkpoint(find_model(self.names[name])))) is not None:
            bits = prepared.quantization.bits
        else:
            bits = 8 * DTYPES[self._settings.get("dtype", "float32")].itemsize
        return self.outlines[name].decoder.num_parameters * bits // 8

    async def _make_room(self, name: str, num_bytes: int) -> None:
        """Unload idle models, the least recently used first."""
        while self.loaded and num_bytes + self.size_bytes > self._memory_bytes:
            idle = [other for other in self.loaded.values() if not other.num_users]
            if not idle:
                message = f"{name} needs the memory of models that are answering; try again when they are done"
                raise ApiError(503, message, code="no_memory", headers={"Retry-After": "10"})
            oldest = min(idle, key=lambda other: other.used_at)
            await self.loaded.pop(oldest.name).close()

    @property
    def size_bytes(self) -> int:
        """Bytes of loaded weights."""
        return sum(hosted.size_bytes for hosted in self.loaded.values())

    async def close(self) -> None:
        """End all requests and engines, those of a model that is being loaded too."""
        async with self._loading:
            closing = (hosted.close() for hosted in self.loaded.values())
            for error in await asyncio.gather(*closing, return_exceptions=True):
                if error is not None:
                    logger.error("a model was not closed: %s", error)


async def _run_aside(function: Callable[[], Answer]) -> Answer:
    """Run a function in a thread that ends with it.

    OpenMP keeps a team for each thread that has computed. With more of its threads than cores, none of them waits
    actively any more, which makes every step of the engine slower.
    """
    thread = ThreadPoolExecutor(1)
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, function)
    finally:
        thread.shutdown(wait=False)


def parse_names(models: Iterable[str]) -> dict[str, str]:
    """Names of models in requests, each once: as given, a path's last part, or as NAME=MODEL sets it."""
    names: dict[str, str] = {}
    for given in models:
        name, separator, source = ("", "", given) if Path(given).exists() else given.partition("=")
        if separator and not (name and source):
            raise ConfigError(f"a model is {given!r}; allowed: NAME=MODEL, or MODEL alone")
        if not separator:
            name, source = Path(given).name if Path(given).exists() else given, given
        if name in names:
            raise ConfigError(f"two models are called {name!r}; allowed: NAME=MODEL for one of them")
        names[name] = source
    return names
