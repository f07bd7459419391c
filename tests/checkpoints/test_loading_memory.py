"""Memory needed to load a checkpoint of 450 MB in shards, measured in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sfumato.checkpoints.load import build

MB = 2**20
SHARD = 128 * MB
LARGEST = 32 * MB
CONFIG = {
    "model_type": "llama",
    "vocab_size": 4096,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}
# VmHWM is the peak resident size.
LOAD = """
import sys
from pathlib import Path
from sfumato.checkpoints.load import load_checkpoint

def resident(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

before = resident("VmRSS")
model = load_checkpoint(Path(sys.argv[1])).model
print(before, resident("VmHWM"), sum(weight.nbytes for weight in model.parameters()))
"""


@pytest.fixture(scope="module")
def shards() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "config.json").write_text(json.dumps(CONFIG))
        model, _, _ = build(directory)
        index: dict[str, str] = {}
        shard: dict[str, torch.Tensor] = {}
        size = 0

        def write() -> None:
            file = f"model-{len(set(index.values())):05}.safetensors"
            save_file(shard, directory / file)
            index.update(dict.fromkeys(shard, file))
            shard.clear()

        for parameter_name, weight in model.state_dict().items():
            if size + weight.nbytes > SHARD and shard:
                write()
                size = 0
            shard[parameter_name] = torch.full(weight.shape, 0.01)
            size += weight.nbytes
        write()
        (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        yield directory


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs Linux, to read the resident size")
def test_peak_memory_is_the_model_and_less_than_a_shard(shards: Path) -> None:
    sizes = [path.stat().st_size for path in shards.glob("*.safetensors")]
    done = subprocess.run([sys.executable, "-c", LOAD, str(shards)], capture_output=True, text=True, check=True)
    before, peak, weights = map(int, done.stdout.split())
    assert weights >= 400 * MB
    assert len(sizes) >= 4
    # Less what the interpreter and its libraries used before. What is read stays resident until the file is reopened.
    assert peak - before <= weights + 3 * LARGEST
    assert peak <= weights + max(sizes) + 200 * MB
