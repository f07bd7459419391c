"""`sfumato chat`: a conversation in the terminal; in a pipe, each line is a message."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import MODEL_HELP, Sampling, Stop, System, Weights, complete_model
from sfumato.cli.output import check_target, take_stdin
from sfumato.cli.run import print_text, print_usage
from sfumato.config import check_choice, check_number
from sfumato.data.kinds import visible_turns
from sfumato.errors import CapacityError, RequestError, SfumatoError
from sfumato.interrupts import Interrupted, Signals

if TYPE_CHECKING:
    from sfumato.cli.remote import RemoteModel
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import GenerateOptions
    from sfumato.engine.request import Result

    ChatModel = TextModel | RemoteModel

MAX_TOKENS = 512
"""Default limit per answer, for models with at least twice as many positions."""
_FENCE = '"""'
_COMMANDS = {
    "/help": "list these commands",
    "/model [NAME]": "switch to another model, or show the current one",
    "/steps [N]": "maximum denoising steps per canvas; without N, the model's default",
    "/seed N": "set the random seed",
    "/system [TEXT]": "set the system message; without TEXT, remove it",
    "/edit [TEXT]": "replace your last message by TEXT and ask again; without TEXT, edit it",
    "/undo": "forget your last message and its answer",
    "/save FILE": "append the conversation to FILE as one line of JSON",
    "/quit": "leave; Ctrl-D does the same",
}


def chat(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help=f"{MODEL_HELP} Default: tiny, or the server's first.", autocompletion=complete_model
        ),
    ] = None,
    system: System = None,
    sampling: Sampling = Sampling(),
    max_tokens: Annotated[int | None, typer.Option(help="Maximum tokens per answer.")] = None,
    stop: Stop = None,
    no_live: Annotated[bool, typer.Option("--no-live", help="Do not show the canvas in the terminal.")] = False,
    url: Annotated[str | None, typer.Option(help="Talk to a model on this server instead of loading one.")] = None,
    api_key: Annotated[str | None, typer.Option(help="Key for the server; default: $SFUMATO_API_KEY.")] = None,
    weights: Weights = Weights(),
) -> None:
    """Chat with a model in the terminal or a pipe.

    Type /help for commands. In a pipe, each line is a message and answers go to stdout.
    """
    options: GenerateOptions = {"max_tokens": max_tokens, "stop": stop, "system": system}
    sampling.apply_to(options)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    failed = False
    signals = Signals()
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(_models(url, api_key, weights))
        conversation = Conversation(load(model), options, load=load, live=interactive and not no_live)
        if interactive:
            stack.enter_context(_input_history())
            # Held for the whole conversation: a signal between two messages cancels the next one.
            stack.enter_context(signals)
            alone = " answers each message by itself" if conversation.forgets else ""
            name = repr(conversation.model) if url is not None else model or "tiny"
            typer.echo(f"{name}{alone} · /help · {_FENCE} around several lines · Ctrl-D leaves", err=True)
        else:
            take_stdin("messages, one a line,")
        going = True
        while going:
            try:
                with signals.raised() if interactive else contextlib.nullcontext():
                    text = _read_turn(conversation.draft if interactive else None, interactive)
                    going = text is not None and conversation.take(text)
            except SfumatoError as error:
                typer.echo(f"sfumato: {error}", err=True)
                failed = True
            except Interrupted as error:
                if error.number != signal.SIGINT:
                    raise
                signals.arrived = None
                conversation.draft = None
                typer.echo("\ncancelled; Ctrl-D leaves", err=True)
    if failed and not interactive:
        raise typer.Exit(1)


@contextlib.contextmanager
def _models(url: str | None, api_key: str | None, weights: Weights) -> Iterator[Callable[[str | None], ChatModel]]:
    """A function that finds models by name, in this process or on a server."""
    if url is None:
        if api_key is not None:
            raise RequestError("api_key is given; allowed: only with --url")
        yield lambda name: weights.load(name or "tiny")
        return
    for field in dataclasses.fields(weights):
        if getattr(weights, field.name) != field.default:
            raise RequestError(f"{field.name} is given; allowed: only without --url")
    from sfumato.cli.remote import RemoteModel
    from sfumato.client import Client

    with Client(url, api_key=api_key) as client:
        yield lambda name: RemoteModel(client, name)


class Conversation:
    """A conversation with a model that stays loaded."""

    def __init__(
        self, model: ChatModel, options: GenerateOptions, *, load: Callable[[str], ChatModel], live: bool = False
    ) -> None:
        self.model, self.options = model, options.copy()
        self.messages: list[dict[str, str]] = []
        """Messages of user and assistant."""
        self.draft: str | None = None
        """The user's last message while it is being edited."""
        self._load, self._live = load, live

    @property
    def forgets(self) -> bool:
        """Whether each message is answered on its own: a model trained on fixed kinds of prompts never saw a second
        message."""
        return bool(self.model.kinds)

    def take(self, text: str) -> bool:
        """Answer a message or run a command; if that fails, nothing changes. Return False to leave."""
        if not text.strip():
            return True
        if not text.startswith("/"):
            self._answer(text, self.messages if self.draft is None else self.messages[:-2])
            return True
        name, _, value = text.partition(" ")
        commands = [usage.partition(" ")[0] for usage in _COMMANDS]
        check_choice("command", name, commands)
        self.draft = None
        if name != "/quit":
            getattr(self, f"_{name[1:]}")(value.strip())
        return name != "/quit"

    def _answer(self, text: str, before: list[dict[str, str]]) -> None:
        messages = [*before, {"role": "user", "content": text}]
        self.draft = None
        result = self._ask(messages)
        print_text([result])
        print_usage([result], self._live)
        if result.failed:
            raise CapacityError(result.failure)
        self.messages = [*messages, {"role": "assistant", "content": result.text}]

    def _ask(self, messages: list[dict[str, str]]) -> Result:
        from rich.console import Console

        from sfumato.cli.live import play, prefetch
        from sfumato.engine.request import results_of

        options = self.options.copy()
        options["max_tokens"] = options.get("max_tokens") or min(MAX_TOKENS, self.model.context_length // 2)
        turns = visible_turns(messages, self.model.kinds)
        while True:
            try:
                events = self.model.stream(turns, **options)
                break
            except CapacityError:
                if len(turns) == 1:
                    raise
                turns = turns[2:]
        if len(turns) < len(messages) and not self.forgets:
            typer.echo(
                f"{len(messages) - len(turns)} messages are left out: they do not fit into the context", err=True
            )
        console = Console(highlight=False, markup=False, emoji=False)
        shown = self._live and not console.is_dumb_terminal
        # A thread writes, so that an interrupt comes between steps.
        [result] = play(events, console) if shown else results_of(prefetch(events))
        return result

    def _help(self, _: str) -> None:
        for usage, description in _COMMANDS.items():
            typer.echo(f"{usage:<15} {description}", err=True)

    def _model(self, name: str) -> None:
        if name:
            self.model = self._load(name)
        typer.echo(repr(self.model), err=True)

    def _steps(self, given: str) -> None:
        from sfumato.sampling.config import MAX_STEPS

        self.options["steps"] = _whole("steps", given, 1, MAX_STEPS) if given else None

    def _seed(self, given: str) -> None:
        from sfumato.engine.request import RANGES

        self.options["seed"] = _whole("seed", given, *RANGES["seed"])

    def _system(self, text: str) -> None:
        self.options["system"] = text or None

    def _edit(self, text: str) -> None:
        if not self.messages:
            raise RequestError("there is no message to edit yet")
        if text:
            self._answer(text, self.messages[:-2])
        elif not sys.stdin.isatty():
            raise RequestError("edit needs the new message in a pipe: /edit TEXT")
        else:
            self.draft = self.messages[-2]["content"]

    def _undo(self, _: str) -> None:
        if not self.messages:
            raise RequestError("there is nothing to undo")
        self.messages = self.messages[:-2]

    def _save(self, file: str) -> None:
        from sfumato.storage import write_atomically

        check_target("save", file)
        if not self.messages:
            raise RequestError("there is nothing to save yet")
        system = self.options.get("system")
        head = [] if system is None else [{"role": "system", "content": system}]
        before = Path(file).read_bytes() if Path(file).is_file() else b""
        write_atomically(Path(file), before, f"{json.dumps({'messages': head + self.messages})}\n".encode())
        typer.echo(f"saved {file}", err=True)


def _whole(name: str, given: str, low: int, high: int | None) -> int:
    value = int(given) if given.isdecimal() else given
    check_number(name, value, low, high, whole=True)
    return int(value)


def _read_turn(draft: str | None, interactive: bool) -> str | None:
    """A line, or several between triple quotes; None at the end of input."""
    line = _read_line("> ", interactive, draft)
    if line is None or not line.startswith(_FENCE):
        return line
    lines = [line.removeprefix(_FENCE)]
    while not lines[-1].endswith(_FENCE) and (line := _read_line(". ", interactive)) is not None:
        lines.append(line)
    return "\n".join(lines).removesuffix(_FENCE).strip("\n")


def _read_line(prompt: str, interactive: bool, draft: str | None = None) -> str | None:
    if not interactive:
        try:
            return line.removesuffix("\n") if (line := sys.stdin.readline()) else None
        except UnicodeDecodeError as error:
            raise RequestError(f"a line on stdin is not {error.encoding}: {error.reason}") from None
    try:
        import readline
    except ImportError:
        return _input(prompt)
    readline.set_startup_hook((lambda: readline.insert_text(draft)) if draft else None)
    try:
        return _input(prompt)
    finally:
        readline.set_startup_hook(None)


def _input(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        typer.echo()
        return None


@contextlib.contextmanager
def _input_history() -> Iterator[None]:
    """Keeps the input history between sessions, in the cache directory, readable by this user only."""
    try:
        import readline
    except ImportError:
        yield
        return
    from sfumato.checkpoints.registry import cache_directory

    file = cache_directory() / "chat_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(1000)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)
