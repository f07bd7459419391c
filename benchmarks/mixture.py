"""DiffusionGemma's 26B-A4B in 4 bits on a CPU: memory, starts, and a step against what memory allows.

python -m benchmarks.mixture write DIR --layers 30     random weights in its shape, as `sfumato convert` writes them
python -m benchmarks.mixture run DIR --cold            start, and steps of a canvas of 64; --cold reads the disk anew
python -m benchmarks.mixture original DIR --layers 2   random weights in its own files, in bfloat16
python -m benchmarks.mixture convert DIR OUT           the memory of converting them

Every command prints one JSON object. All 30 layers take 18 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmarks.model import BenchModel
from benchmarks.shapes import SIZES
from sfumato.checkpoints.families import FAMILIES
from sfumato.checkpoints.families.family import stored_shape
from sfumato.checkpoints.load import build, save_prepared
from sfumato.checkpoints.prepared import Layout, Preparation, Shards
from sfumato.checkpoints.tensors import INDEX, weight_files
from sfumato.costs import in_integers, measure_machine, step_cost
from sfumato.engine.engine import Engine
from sfumato.kernels.cpu.backend import FloatMatrix
from sfumato.kernels.cpu.loops.sizes import FLIP, PANEL
from sfumato.kernels.cpu.products import Matrix
from sfumato.models.layers import FloatProduct
from sfumato.models.model import Model
from sfumato.models.quantization.products import IntegerExperts
from sfumato.models.quantization.weights import QUANTIZATIONS

KIND, CANVAS, PREFIX = "diffusion_gemma", 64, 64
WAY = QUANTIZATIONS["w4a8"]


class Peaks:
    """The most memory of this process while a block runs, by what it is."""

    def __enter__(self) -> Peaks:
        self.bytes = {"VmRSS": 0, "RssAnon": 0, "RssFile": 0}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
                name, value = line.split(":", 1)
                if name in self.bytes:
                    self.bytes[name] = max(self.bytes[name], 1024 * int(value.split()[0]))
            if self._ended.wait(0.02):
                return

    def gigabytes(self) -> dict[str, float]:
        """Rounded, by name."""
        return {name: round(size / 1e9, 2) for name, size in self.bytes.items()}


def write_config(directory: Path, num_layers: int) -> Model:
    """Write the published config with a number of layers.

    Returns:
        The model on the meta device.
    """
    sizes: dict[str, Any] = dict(SIZES[KIND])
    layer_types, shapes = sizes.pop("layer_types"), sizes.pop("attention")
    # The last of few layers is one of full attention, as of all.
    kinds = [f"{kind}_attention" for kind in layer_types[len(layer_types) - num_layers :]]
    sliding, full = shapes["sliding"], shapes["full"]
    text = sizes | {
        "layer_types": kinds,
        "num_hidden_layers": num_layers,
        "head_dim": sliding["head_dim"],
        "num_key_value_heads": sliding["num_key_value_heads"],
        "global_head_dim": full["head_dim"],
        "num_global_key_value_heads": full["num_key_value_heads"],
        "sliding_window": sliding["window"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {
                "rope_type": "proportional",
                "rope_theta": full["rope_theta"],
                "partial_rotary_factor": full["partial_rotary_factor"],
            },
        },
    }
    directory.mkdir(parents=True, exist_ok=True)
    config = {"model_type": KIND, "canvas_length": 256, "text_config": text}
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return build(directory)[0]


def write(directory: Path, num_layers: int) -> dict[str, Any]:
    """Write random weights as they are converted: levels, with the scales of Gaussian weights of 1 / sqrt(inputs)."""
    started = time.perf_counter()
    layout = Layout(write_config(directory, num_layers), Preparation.of(WAY, torch.float32))
    generator = torch.Generator().manual_seed(0)
    with Peaks() as peaks, Shards(directory, layout) as shards:
        panels = torch.empty(0)
        for name, empty in layout.expected.items():
            if name.endswith("flipped_start"):
                # What the loops take the sums of flipped rows from.
                sums = panels.sum((0, 2, 4), dtype=torch.int32).flatten() if panels.numel() else panels.int()
                tensor = -FLIP * sums[: len(empty)]
            else:
                tensor = _random(name, empty, generator)
            panels = tensor if tensor.dtype is torch.int8 else torch.empty(0)
            shards.add({name: tensor})
        shards.finish()
    files_gb = sum(path.stat().st_size for path in directory.iterdir()) / 1e9
    return {"files_gb": round(files_gb, 2), "seconds": round(time.perf_counter() - started, 1), **peaks.gigabytes()}


def _random(name: str, empty: Tensor, generator: torch.Generator) -> Tensor:
    tensor = torch.empty(empty.shape, dtype=empty.dtype)
    spread = SIZES[KIND]["hidden_size"] ** -0.5
    if tensor.dtype in (torch.uint8, torch.int8):
        # Eight levels at a time.
        tensor.view(-1).view(torch.int64).random_(generator=generator)
        if tensor.dtype is torch.uint8:
            pairs = tensor[..., -4 * PANEL :].view(torch.float16)
            pairs[..., :PANEL], pairs[..., PANEL:] = 4.5 * spread / 15, -4.5 * spread / 2
        return tensor
    if name.endswith("scales_V"):
        return tensor.fill_(4.5 * spread / 127)
    # Factors of rows and of inputs, and norms, are 1.
    if tensor.dim() == 1 or "unsmooth" in name or "scales" in name:
        return tensor.fill_(0.0 if name.endswith("bias_O") else 1.0)
    return tensor.normal_(0.0, spread, generator=generator)


def write_original(directory: Path, num_layers: int) -> dict[str, Any]:
    """Random weights in bfloat16 under the names of the checkpoint, a file for each layer."""
    model = write_config(directory, num_layers)
    empty, index = model.state_dict(), dict[str, str]()
    files: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, parts in FAMILIES[KIND].layout(model).items():
        layer = name.split(".layers.")[1].split(".")[0] if ".layers." in name else "others"
        files.setdefault(f"model-{layer}.safetensors", {})[name] = stored_shape(empty, parts)
    for file, shapes in files.items():
        tensors = {name: torch.ones(shape, dtype=torch.bfloat16) for name, shape in shapes.items()}
        for one in tensors.values():
            if one.dim() > 1:
                one.normal_(0.0, one.shape[-1] ** -0.5)
        save_file(tensors, directory / file)
        index |= dict.fromkeys(tensors, file)
    (directory / INDEX).write_text(json.dumps({"weight_map": index}), encoding="utf-8")
    layer_gb = max(path.stat().st_size for path in directory.iterdir()) / 1e9
    return {"largest_file_gb": round(layer_gb, 2)}


def convert(directory: Path, out: Path) -> dict[str, Any]:
    """The memory of `sfumato convert --quantize w4a8`."""
    started = time.perf_counter()
    with Peaks() as peaks:
        save_prepared(out, directory, WAY)
    return {"seconds": round(time.perf_counter() - started, 1), **peaks.gigabytes()}


def share_chosen(engine: Engine) -> float:
    """The share of all experts that some position of a step chooses."""
    chosen: list[Tensor] = []
    multiply = IntegerExperts.forward

    def watched(experts: IntegerExperts, x_NI: Tensor, row_M: Tensor | None, end_X: Tensor) -> Tensor:
        chosen.append((end_X.diff(prepend=end_X.new_zeros(1)) > 0).float().mean())
        return multiply(experts, x_NI, row_M, end_X)

    IntegerExperts.forward = watched  # type: ignore[method-assign, assignment]
    try:
        engine.step()
    finally:
        IntegerExperts.forward = multiply  # type: ignore[method-assign]
    return float(torch.stack(chosen).mean())


def bytes_of_step(model: Model, share: float) -> float:
    """Bytes of the matrices that a step reads, of experts a share."""
    total = 0.0
    counted: set[int] = set()
    for module in model.modules():
        experts = isinstance(module, IntegerExperts)
        for matrix in (*module.children(), getattr(module, "matrix", None)):
            if isinstance(matrix, (Matrix, FloatMatrix)) and id(matrix) not in counted:
                counted.add(id(matrix))
                size = matrix.panels.nbytes if isinstance(matrix, Matrix) else matrix.tensors[0].nbytes
                total += size * (share if experts else 1.0)
    assert any(isinstance(module, FloatProduct) for module in model.modules())
    return total


def run(directory: Path, *, cold: bool, repeats: int) -> dict[str, Any]:
    """Start, and steps of one canvas."""
    if cold:
        for path in weight_files(directory):
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with Peaks() as peaks:
        started = time.perf_counter()
        bench_model = BenchModel.load(str(directory), quantize="w4a8")
        loaded_s = time.perf_counter() - started
        engine = bench_model.stepping(CANVAS, PREFIX, repeats + 1)
        first_s = time.perf_counter() - started
        walls, busy = [], []
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            engine.step()
            walls.append(time.perf_counter() - wall)
            busy.append(time.process_time() - cpu)
        share = share_chosen(engine)
    model = bench_model.model.decoder
    read = bytes_of_step(model, share)
    machine, outline = in_integers(measure_machine(1.0)), build(directory)[0]
    operations = step_cost(outline, CANVAS, PREFIX).operations
    memory_s, products_s = read / machine.bytes_per_s, operations / machine.operations_per_s
    step_s, cpu_s = statistics.median(walls), statistics.median(busy)
    return {
        "threads": torch.get_num_threads(),
        "parameters": outline.num_parameters,
        "load_s": round(loaded_s, 2),
        "prompt_and_first_step_s": round(first_s, 2),
        "step_s": round(step_s, 3),
        "step_cpu_s": round(cpu_s, 3),
        "experts_chosen": round(share, 3),
        "read_gb": round(read / 1e9, 2),
        "memory_gb_per_s": round(machine.bytes_per_s / 1e9, 1),
        "operations_g": round(operations / 1e9, 1),
        "integer_operations_g_per_s": round(machine.operations_per_s / 1e9, 1),
        "share_of_memory_limit": round(memory_s / step_s, 3),
        "share_of_limit": round(max(memory_s, products_s) / step_s, 3),
        "share_by_cpu_time": round(max(memory_s, products_s) / cpu_s * torch.get_num_threads(), 3),
        "peaks_gb": peaks.gigabytes(),
    }


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("write", "run", "original", "convert"))
    parser.add_argument("directories", type=Path, nargs="+")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    directory = asked.directories[0]
    if asked.command == "run":
        report = run(directory, cold=asked.cold, repeats=asked.repeats)
    elif asked.command == "convert":
        report = convert(*asked.directories)
    else:
        report = (write if asked.command == "write" else write_original)(directory, asked.layers)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
