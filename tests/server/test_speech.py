"""Recordings into text."""

from __future__ import annotations

import asyncio
import io
import math
import shutil
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from benchmarks.speech import COMMANDS, same_words, say

from serving import Served, start
from sfumato.errors import ConfigError, RequestError
from sfumato.server.speech import MAX_SECONDS, Asked, Speech, find_packaged_whisper, read_audio

HEARD = {"task": "transcribe", "language": "en", "duration": 1.25, "text": "add milk", "segments": [{"id": 0}]}


class Ears(Speech):
    """Hears the same in all recordings."""

    def __init__(self) -> None:
        self.name = "whisper-double"
        self.heard: list[tuple[bytes, Asked]] = []

    async def hear(self, recording: bytes, asked: Asked) -> dict[str, Any]:
        self.heard.append((recording, asked))
        return dict(HEARD)


EARS = Ears()


@pytest.fixture(scope="module")
def hearing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from start(tmp_path_factory.mktemp("speech"), speech=EARS)


def post(served: Served, recording: bytes | None = b"RIFF", **fields: str) -> httpx.Response:
    files = {} if recording is None else {"file": ("a.wav", recording, "audio/wav")}
    return served.http.post("/v1/audio/transcriptions", files=files or {"x": ("", b"")}, data=fields)


def test_server_without_speech_refuses(served: Served):
    refused = post(served)
    assert (refused.status_code, refused.json()["error"]["code"]) == (501, "speech_not_available")
    assert "sfumato[speech]" in refused.json()["error"]["message"]


def test_openai_client(hearing: Served):
    with openai.OpenAI(base_url=f"{hearing.url}/v1", api_key="none") as client:
        answer = client.audio.transcriptions.create(
            file=("a.webm", b"recorded"), model="whisper-1", language="en", prompt="Add milk.", temperature=0.5
        )
    assert answer.text == "add milk"
    assert EARS.heard[-1] == (b"recorded", Asked(language="en", prompt="Add milk.", temperature=0.5))


def test_response_formats(hearing: Served):
    usage = {"usage": {"type": "duration", "seconds": 1.25}}
    assert post(hearing).json() == {"text": "add milk"} | usage
    assert post(hearing, response_format="verbose_json").json() == HEARD | usage
    assert post(hearing, response_format="text").text == "add milk\n"


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "gpt-4o-transcribe"}, 404, "model"),
        ({"response_format": "srt"}, 400, "response_format"),
        ({"temperature": "2"}, 400, "temperature"),
        ({"temperature": "warm"}, 400, "temperature"),
        ({"stream": "true"}, 400, "stream"),
    ],
)
def test_form_errors_are_named(hearing: Served, fields: dict[str, str], status: int, param: str):
    refused = post(hearing, **fields)
    assert (refused.status_code, refused.json()["error"]["param"]) == (status, param)


def test_invalid_forms_are_refused(hearing: Served):
    assert hearing.ask("/v1/audio/transcriptions", file="x").status_code == 415
    path = "/v1/audio/transcriptions"
    broken = hearing.http.post(path, content=b"--x", headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert broken.status_code == 400
    refused = hearing.http.post(path, files={"file": (None, "text")})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "file")


def test_invalid_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"sfumato\[speech\]"):
        Speech(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    with pytest.raises(ConfigError, match=r"model\.bin"):
        Speech(tmp_path)


# With the extra.


def recording(seconds: float, rate: int = 8000) -> bytes:
    """A tone as a wav."""
    samples = [round(9000 * math.sin(i / 9)) for i in range(int(seconds * rate))]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(np.array(samples, "<i2").tobytes())
    return buffer.getvalue()


def test_only_audio_is_decoded(tmp_path: Path):
    pytest.importorskip("av", reason="speech is an extra")
    audio = read_audio(recording(0.5))
    assert audio.dtype == np.float32
    assert len(audio) == pytest.approx(8000, abs=50)
    assert np.abs(audio).max() == pytest.approx(9000 / 32768, abs=0.02)
    (tmp_path / "a.wav").write_bytes(recording(0.5))
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{tmp_path}/a.wav\n#EXT-X-ENDLIST\n"
    concat = f"ffconcat version 1.0\nfile {tmp_path}/a.wav\n"
    for other in (b"", b"RIFF", b"\x00" * 1000, recording(0.5)[:30], playlist.encode(), concat.encode()):
        with pytest.raises(RequestError, match="file is not a readable recording"):
            read_audio(other)
    with pytest.raises(RequestError, match="longer than"):
        read_audio(recording(MAX_SECONDS + 1, rate=1000))


def test_spoken_commands_are_transcribed():
    pytest.importorskip("faster_whisper", reason="speech is an extra")
    directory = find_packaged_whisper()
    if directory is None or shutil.which("espeak-ng") is None:
        pytest.skip("needs the packages of whisper-base, and espeak-ng")
    ears = Speech(directory)
    assert same_words("Delete the second.", "delete the second")
    assert not same_words("Delete a second.", "delete the second")
    for command in ("delete the second", "scroll down"):
        assert command in COMMANDS
        heard = asyncio.run(ears.hear(say(command, "en-us"), Asked()))
        assert same_words(heard["text"], command)
        assert (heard["language"], len(heard["segments"])) == ("en", 1)
    assert asyncio.run(ears.hear(recording(1.0), Asked()))["text"] == ""
    with pytest.raises(RequestError, match="language"):
        asyncio.run(ears.hear(say("go back", "en-us"), Asked(language="klingon")))
