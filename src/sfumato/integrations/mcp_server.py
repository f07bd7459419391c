"""An MCP server with the tools generate, infill, edit, decide and mend.

No tool writes a file: edits return a text and a diff. Refusals are tool errors that say what is allowed.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from sfumato.data.kinds import examples
from sfumato.engine.model import TextModel
from sfumato.engine.options import EditOptions
from sfumato.engine.request import Result
from sfumato.errors import RequestError, SfumatoError
from sfumato.mend.mender import Mender
from sfumato.server.decisions import Slot, decided, decision_request
from sfumato.server.hosting import Host
from sfumato.storage import difference
from sfumato.text.patches import line_span, line_starts

MaxTokens = Annotated[int | None, Field(description="Maximum tokens to write; default: the model's limit.")]
Answered = Annotated[str | None, Field(description="The prompt that the whole text answers.")]
JsonSchema = Annotated[
    dict[str, Any] | None, Field(description="A JSON Schema that the new text must satisfy as a whole.")
]
Regex = Annotated[str | None, Field(description="A regular expression that the whole new text must match.")]
Steps = Annotated[int | None, Field(description="Maximum denoising steps per canvas.")]
Temperature = Annotated[float | None, Field(description="Sampling temperature; 0 takes the likeliest token.")]
Seed = Annotated[int, Field(description="Random seed: the same seed gives the same answer.")]


class Written(TypedDict):
    """Generated text."""

    text: str
    finish_reason: str
    certainty: float
    """Mean log-probability of the text, in nats; 0 is certain."""


class Changed(TypedDict):
    """An edited text."""

    text: str
    diff: str
    """Unified diff; empty if nothing changes."""
    reason: str
    """Why nothing changes, if so."""


class Decision(TypedDict):
    """The chosen answer."""

    choice: str
    confidence: float
    """0 if all are equally probable, 1 if one is certain."""
    probabilities: dict[str, float]


def make_server(host: Host, load_mender: Callable[[], Mender], version: str) -> MCPServer[Any]:
    """Create a server for a host's first model; it closes the host at its end.

    Args:
        host: of the model, which is loaded at startup.
        load_mender: loads the repair model, when first needed.
    """

    @asynccontextmanager
    async def lifespan(server: MCPServer[Any]) -> AsyncIterator[None]:
        loading = asyncio.ensure_future(host.use(host.default))
        try:
            yield
        finally:
            # Tools report a model that cannot be loaded.
            with suppress(SfumatoError):
                await loading
            await host.close()

    model = host.outlines[host.default]
    about = f"Tools of {host.default}, a text diffusion model that refines a whole canvas of tokens at once."
    if model.kinds:
        about += f" It was trained only on some kinds of prompts, for example:\n{examples(model.kinds)}"
    server: MCPServer[Any] = MCPServer(
        "sfumato", title="Sfumato", instructions=about, version=version, lifespan=lifespan, log_level="WARNING"
    )
    tools = _Tools(host, functools.cache(load_mender))
    offered: list[Callable[..., Any]] = [tools.generate, tools.decide, tools.mend]
    if not model.spec.autoregressive:
        offered[1:1] = [tools.infill, tools.edit]
    for tool in offered:
        read_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        server.add_tool(tool, annotations=read_only)
    _refuse_unknown(server)
    return server


def _refuse_unknown(server: MCPServer[Any]) -> None:
    """Refuse arguments that a tool does not have; the library drops them."""
    for tool in server._tool_manager.list_tools():
        arguments = tool.fn_metadata.arg_model
        arguments.model_config["extra"] = "forbid"
        arguments.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False


class _Tools:
    # Clients read docstrings and descriptions.

    def __init__(self, host: Host, load_mender: Callable[[], Mender]) -> None:
        self._host, self._load_mender, self._loading = host, load_mender, asyncio.Lock()

    async def generate(
        self,
        prompt: Annotated[str, Field(description="The message to answer.")],
        json_schema: JsonSchema = None,
        regex: Regex = None,
        max_tokens: MaxTokens = None,
        steps: Steps = None,
        temperature: Temperature = None,
        seed: Seed = 0,
    ) -> Written:
        """Answer a message, optionally in a guaranteed format."""
        options: dict[str, Any] = {"max_tokens": max_tokens, "steps": steps, "temperature": temperature, "seed": seed}
        options |= {"schema": json_schema, "order": "schema", "regex": regex}
        return _written(await self._call(lambda model: model.generate(prompt, **options)))

    async def infill(
        self,
        prefix: Annotated[str, Field(description="The text before the gap.")],
        suffix: Annotated[str, Field(description="The text after the gap, to the end of the text.")] = "",
        prompt: Answered = None,
        json_schema: JsonSchema = None,
        regex: Regex = None,
        max_tokens: Annotated[int, Field(description="Maximum tokens to write.")] = 32,
        steps: Steps = None,
        seed: Seed = 0,
    ) -> Written:
        """Fill the gap between two texts, with as many tokens as needed, optionally in a guaranteed format."""
        options: dict[str, Any] = {"prompt": prompt, "max_tokens": max_tokens, "steps": steps, "seed": seed}
        options |= {"schema": json_schema, "order": "schema", "regex": regex}
        return _written(await self._call(lambda model: model.infill(prefix, suffix, **options)))

    async def edit(
        self,
        text: Annotated[str, Field(description="The whole text.")],
        lines: Annotated[
            list[tuple[int, int]] | None,
            Field(description="[first, last] lines to rewrite, from 1; default: what the model doubts."),
        ] = None,
        prompt: Answered = None,
        instruction: Annotated[str | None, Field(description="What to do, for models that take instructions.")] = None,
        min_certainty: Annotated[
            float | None, Field(description="Minimum certainty of an edit in nats; -10000 allows any.")
        ] = None,
        regex: Annotated[
            str | None,
            Field(description="A regular expression that the whole new text of one [first, last] must match."),
        ] = None,
        steps: Steps = None,
        seed: Seed = 0,
    ) -> Changed:
        """Rewrite lines of a text, or what the model doubts in it; everything else stays. Writes no file."""
        options: EditOptions = {
            "prompt": prompt,
            "instruction": instruction,
            "min_certainty": min_certainty,
            "regex": regex,
            "steps": steps,
            "seed": seed,
        }

        def work(model: TextModel) -> Result:
            options["spans"] = None if lines is None else _spans(text, lines)
            return model.edit(text, **options)

        result = await self._call(work)
        return _changed(text, result.text, result.error or "the model would change nothing")

    async def decide(
        self,
        text: Annotated[str, Field(description="The context of the question.")],
        question: str,
        choices: Annotated[list[str], Field(description="The allowed answers: 2 or more, without duplicates.")],
        seed: Seed = 0,
    ) -> Decision:
        """Choose one of several answers to a question about a text, with the probability of each."""

        def work(model: TextModel) -> Result:
            turns: list[dict[str, Any]] = [{"role": "user", "content": text}]
            return model.results([decision_request(model, turns, [slot], seed)])[0][0]

        with _as_tool_errors():
            slot = Slot.choice("choices", question, [(choice, choice) for choice in choices])
        result = await self._call(work)
        [answer] = decided(self._host.outlines[self._host.default], [slot], result)
        shares = {name: round(share, 4) for name, share in zip(choices, answer.probabilities, strict=True)}
        return {"choice": answer.best, "confidence": round(answer.confidence, 4), "probabilities": shares}

    async def mend(self, source: Annotated[str, Field(description="Python source, as a whole file.")]) -> Changed:
        """Repair Python that does not parse, with as few edits as possible. Writes no file."""
        with _as_tool_errors():
            async with self._loading:
                mender = await asyncio.to_thread(self._load_mender)
            mended = await asyncio.to_thread(mender.mend, source)
        return _changed(source, mended.text, mended.reason)

    async def _call(self, work: Callable[[TextModel], Result]) -> Result:
        """Run a function of the model; a cancelled call ends with the current step."""
        with _as_tool_errors(), await self._host.use(self._host.default) as hosted:
            result = await hosted.call(work)
        if result.failed:
            raise ToolError(result.failure)
        return result


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Turns our errors into tool errors, whose message the client reads."""
    try:
        yield
    except SfumatoError as error:
        raise ToolError(str(error)) from None


def _written(result: Result) -> Written:
    certainty = round(result.certainty, 4) + 0.0
    return {"text": result.text, "finish_reason": result.finish_reason, "certainty": certainty}


def _changed(before: str, after: str, reason: str) -> Changed:
    diff = "\n".join(difference(Path("text"), before, after))
    return {"text": after, "diff": diff, "reason": "" if diff else reason}


def _spans(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The character range of some lines, without the last line end."""
    starts, spans = line_starts(text), []
    for first, last in lines:
        span = line_span(starts, text, first, last)
        if span is None:
            raise RequestError(f"lines has {[first, last]}; allowed: [first, last], from 1 to {len(starts) - 1}")
        if span[0] == span[1]:
            raise RequestError(f"lines has {[first, last]}, which is empty; infill writes into an empty line")
        spans.append(span)
    return spans
