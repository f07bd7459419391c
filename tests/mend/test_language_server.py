"""An editor's side of `sfumato lsp`, by the client that comes with its library."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

PROGRAM = """
import sys
sys.path.insert(0, {support!r})
from scripted import scripted_mender
one = scripted_mender((":", False, (")",), 3.0))
from sfumato.mend.language_server import make_server
make_server(lambda: one, "1").start_io()
"""
URI = "file:///core.py"
BROKEN = 'x = "é𝄞"\r\ndef f(a:\r\n    return a\r\n'


class Editor:
    """Opens one text, and sees what is wrong with it."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.seen: asyncio.Queue[list[types.Diagnostic]] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.seen.put_nowait(list(params.diagnostics))

    async def open(self, text: str) -> list[types.Diagnostic]:
        item = types.TextDocumentItem(uri=URI, language_id="python", version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return await self.seen.get()

    async def change(self, text: str) -> list[types.Diagnostic]:
        document = types.VersionedTextDocumentIdentifier(uri=URI, version=2)
        change = types.TextDocumentContentChangeWholeDocument(text=text)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )
        return await self.seen.get()

    async def close(self) -> list[types.Diagnostic]:
        gone = types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=URI))
        self.client.text_document_did_close(gone)
        return await self.seen.get()

    async def fixes(self, line: int) -> list[types.CodeAction]:
        """Quick fixes for a line; many editors ask without telling of diagnostics."""
        asked = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=URI),
            range=types.Range(types.Position(line, 0), types.Position(line, 0)),
            context=types.CodeActionContext(diagnostics=[]),
        )
        return list(await self.client.text_document_code_action_async(asked) or [])  # type: ignore[arg-type]


def with_editor(body: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        client = LanguageClient("editor", "1")
        editor = Editor(client)
        support = str(Path(__file__).parents[1] / "support")
        await client.start_io(sys.executable, "-c", PROGRAM.format(support=support))
        await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
        await body(editor)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(run(), 600))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_repair_is_a_quick_fix_of_the_characters_that_change() -> None:
    async def body(editor: Editor) -> None:
        [diagnostic] = await editor.open(BROKEN)
        assert (diagnostic.range.start.line, diagnostic.severity) == (1, types.DiagnosticSeverity.Error)
        assert "never closed" in diagnostic.message
        assert await editor.fixes(0) == []
        [fix] = await editor.fixes(1)
        assert (fix.title, fix.kind) == ("Repair the syntax (1 edit)", types.CodeActionKind.QuickFix)
        assert fix.edit is not None
        assert fix.edit.changes is not None
        [edit] = fix.edit.changes[URI]
        assert edit == types.TextEdit(types.Range(types.Position(1, 7), types.Position(1, 7)), ")")
        assert await editor.change(BROKEN.replace("(a:", "(a):")) == []
        assert await editor.fixes(1) == []

    with_editor(body)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_unrepairable_error_has_no_fix() -> None:
    async def body(editor: Editor) -> None:
        found = await editor.open("x = = 1\n")
        assert len(found) == 1
        assert await editor.fixes(0) == []
        assert await editor.close() == []

    with_editor(body)
