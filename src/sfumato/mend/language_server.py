"""A language server that reports Python syntax errors and offers the model's repair as a quick fix."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import ServerTextPosition, ServerTextRange, TextDocument

from sfumato.mend.mender import Mended, Mender
from sfumato.mend.parsing import parse
from sfumato.text.patches import common_ends

SOURCE = "sfumato"
MAX_CHARACTERS = 200_000
"""Maximum text length for quick fixes, which take seconds; longer texts get diagnostics only."""


def make_server(load: Callable[[], Mender], version: str) -> LanguageServer:
    """A server, not yet started.

    Args:
        load: returns the mender; called for the first repair.
    """
    server = LanguageServer("sfumato", version)
    mender, turn = functools.cache(load), threading.Lock()

    @functools.lru_cache(maxsize=16)
    def mend(text: str) -> Mended:
        return mender().mend(text)

    def check(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        error = parse(document.source)
        found = [_diagnostic(error, document)] if isinstance(error, SyntaxError) else []
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=document.version)
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        check(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        check(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        gone = types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[])
        server.text_document_publish_diagnostics(gone)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    @server.thread()
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            text = document.source
        except OSError:
            # It was closed, and there is no file.
            return []
        # Some clients ask without the diagnostics that they were sent.
        error, wanted = parse(text), params.range
        if not isinstance(error, SyntaxError) or len(text) > MAX_CHARACTERS:
            return []
        diagnostic = _diagnostic(error, document)
        if wanted.end.line < diagnostic.range.start.line or wanted.start.line > diagnostic.range.end.line:
            return []
        with turn:
            mended = mend(text)
        if mended.verified_by is None:
            return []
        edit = _edit(document, text, mended.text)
        action = types.CodeAction(
            title=f"Repair the syntax ({mended.num_edits} edit{'s' * (mended.num_edits > 1)})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=types.WorkspaceEdit(changes={document.uri: [edit]}),
            is_preferred=True,
        )
        return [action]

    return server


def _diagnostic(error: SyntaxError, document: TextDocument) -> types.Diagnostic:
    line = min(max(0, (error.lineno or 1) - 1), max(0, len(document.lines) - 1))
    characters = document.lines[line].rstrip("\r\n") if document.lines else ""
    first = min(max(0, (error.offset or 1) - 1), len(characters))
    # What is missing at the end of a line is shown on its last character.
    start = ServerTextPosition(line, min(first, max(0, len(characters) - 1)))
    end = ServerTextPosition(line, len(characters))
    return types.Diagnostic(
        range=document.range_to_client_units(ServerTextRange(start, end)),
        message=error.msg or "invalid syntax",
        severity=types.DiagnosticSeverity.Error,
        source=SOURCE,
    )


def _edit(document: TextDocument, before: str, after: str) -> types.TextEdit:
    """The shortest edit that turns one text into another."""
    start, tail = common_ends(before, after)
    end = len(before) - tail
    positions = [document.client_position_at_offset(offset) for offset in (start, end)]
    return types.TextEdit(range=types.Range(*positions), new_text=after[start : len(after) - tail])
