"""A denoising step of the engine against the exported graph in other programs, on the same weights and shapes.

    python -m benchmarks.peers tiny --threads 2

Each runs the whole step: the model, the draw, confidence, entropy and the soft embedding; the engine also decides
what to keep. They take turns, each in a process of its own. Needs onnxruntime, and openvino for its row.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import statistics
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from benchmarks.model import BenchModel, seconds
from benchmarks.shapes import SHAPES, random_checkpoint
from sfumato.checkpoints.load import load_checkpoint
from sfumato.checkpoints.onnx import GRAPH, StepGraph, check_exportable, trace
from sfumato.checkpoints.registry import find_model
from sfumato.checkpoints.tensors import WEIGHTS
from sfumato.machine import cpu_name
from sfumato.models.decoder import Decoder

Step = Callable[[], object]
SYSTEMS = ("sfumato float32", "sfumato w8a8", "onnxruntime", "openvino", "torch.compile", "torch")
TURNS, STEPS, WARM_UP = 25, 8, 4
MAX_STEPS = TURNS * STEPS + WARM_UP


def export(model: Decoder, folder: Path) -> Path:
    """Write the graph and its float32 weights."""
    held = save({name: tensor.detach().float().contiguous() for name, tensor in model.state_dict().items()})
    (folder / WEIGHTS).write_bytes(held)
    (path := folder / GRAPH).write_bytes(trace(model, held))
    return path


def onnxruntime_step(graph: Path, feed: dict[str, np.ndarray], threads: int) -> Step:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)


def openvino_step(graph: Path, feed: dict[str, np.ndarray], threads: int) -> Step:
    import openvino

    config: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    core = openvino.Core()
    model = core.read_model(graph)
    model.reshape({name: list(value.shape) for name, value in feed.items()})
    request = core.compile_model(model, "CPU", config).create_infer_request()
    return lambda: request.infer(feed, share_inputs=True, share_outputs=True)


def torch_step(step: StepGraph, given: dict[str, torch.Tensor], *, compiled: bool) -> Step:
    forward = torch.compile(step, dynamic=False) if compiled else step

    def run() -> None:
        with torch.inference_mode():
            forward(**given)

    return run


def make_step(system: str, name: str, shape: tuple[int, int], threads: int, folder: Path) -> Step:
    """The step of one of `SYSTEMS`."""
    if system.startswith("sfumato"):
        bench_model = BenchModel.load(name, quantize="w8a8" if system.endswith("w8a8") else None)
        return bench_model.stepping(*shape, MAX_STEPS).step
    checkpoint = random_checkpoint(name) if name in SHAPES else load_checkpoint(find_model(name))
    step = StepGraph(check_exportable(name, checkpoint)).eval()
    given = step.example(shape[1], shape[0] + 1)
    if system.startswith("torch"):
        return torch_step(step, given, compiled=system == "torch.compile")
    graph, feed = export(step.model, folder), {key: tensor.numpy() for key, tensor in given.items()}
    return (openvino_step if system == "openvino" else onnxruntime_step)(graph, feed, threads)


def work(connection: Connection, system: str, name: str, shape: tuple[int, int], threads: int) -> None:
    """Time as many steps as each message asks for, in a process of its own, whose threads disturb no other."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        run = make_step(system, name, shape, threads, Path(folder))
        for _ in range(WARM_UP):
            run()
        connection.send("ready")
        while number := connection.recv():
            connection.send([seconds(run) for _ in range(number)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="tiny")
    parser.add_argument("--canvas", type=int, default=64)
    parser.add_argument("--prefix", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=TURNS, help="number of turns, of 8 steps each")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    options = parser.parse_args()
    if all(system.startswith("sfumato") for system in options.systems) or not 1 <= options.turns <= TURNS:
        parser.error(f"allowed: turns from 1 to {TURNS}, and a system besides sfumato's")
    shape, context = (options.canvas, options.prefix), multiprocessing.get_context("spawn")
    workers: dict[str, Connection] = {}
    for system in options.systems:
        if system == "openvino" and importlib.util.find_spec("openvino") is None:
            print("openvino is not installed; left out")
            continue
        workers[system], theirs = context.Pipe()
        arguments = (theirs, system, options.model, shape, options.threads)
        context.Process(target=work, args=arguments, daemon=True).start()
        theirs.close()
        workers[system].recv()
    times: dict[str, list[float]] = {system: [] for system in workers}
    for _ in range(options.turns):
        for system, connection in workers.items():
            connection.send(STEPS)
            times[system] += connection.recv()
    for connection in workers.values():
        connection.send(0)
    print(f"{options.model}, canvas {shape[0]} after {shape[1]} tokens, {options.threads} threads, {cpu_name()}")
    medians = {system: statistics.median(found) for system, found in times.items()}
    best = min(median for system, median in medians.items() if not system.startswith("sfumato"))
    for system, median in medians.items():
        low, _, high = statistics.quantiles(times[system], n=4)
        spread = f"{low * 1e3:.2f} to {high * 1e3:.2f}"
        print(f"  {system}: {median * 1e3:.2f} ms ({spread}); the best of the others: {best / median:.2f}")


if __name__ == "__main__":
    main()
