"""The training loop, the only one: pretraining, the autoregressive twin and adaptation differ in their recipe, learning
from rewards (`rl`) in what a step is.

All randomness of a batch comes from the seed and its number in the run, so resuming needs nothing but the state of
`state.py`, and several processes divide a step's batches as they like. The loop knows nothing of tasks' scores or
terminals: evaluation and reporting are callables it is given.
"""

from __future__ import annotations

import hashlib
import json
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from sfumato.data.packing import PackingConfig, Source, pack
from sfumato.diffusion.process import Process
from sfumato.errors import CheckpointError, ConfigError, SfumatoError
from sfumato.hardware import find_device
from sfumato.models.decoder import Decoder
from sfumato.models.lora import merged
from sfumato.spec import DEFAULT, GenerationSpec
from sfumato.storage import write_atomically
from sfumato.training.distributed import World, local, recompute, shard
from sfumato.training.objective import ObjectiveConfig, TrainingBatch, losses, prepare
from sfumato.training.state import Progress, load_state, put, save_state, trained

Record = dict[str, Any]
MOST_REFUSED_IN_A_ROW = 20


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The loop's own settings."""

    steps: int
    """Optimizer steps of the whole run."""
    lr: float = 1e-3
    """Peak learning rate of AdamW: embeddings, norms, biases and, without Muon, everything."""
    muon_lr: float = 0.0
    """Peak learning rate of Muon for matrices inside the blocks; 0 leaves them to AdamW."""
    warmup: int = 100
    """Steps of linear warmup."""
    final_lr: float = 0.05
    """Learning rate at the end of the cosine, as a share of the peak."""
    weight_decay: float = 0.01
    """Decoupled decay of matrices."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    average: float = 0.999
    """Decay of the moving average of the weights, which is what is evaluated and shipped; 0 keeps the weights."""
    accumulation: int = 1
    """Packed batches of one optimizer step; several processes divide them, so that it is a multiple of their number."""
    seed: int = 0
    """Of weights, data order and noise."""
    eval_every: int = 0
    """Steps between evaluations; 0 evaluates only at the end."""
    save_every_s: float = 120.0
    """Seconds between saved states."""
    minutes: float = 0.0
    """Minutes after which a sitting ends as if it were interrupted, its state saved; 0 never does."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where a single process trains; auto takes an accelerator if there is one."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of what is computed; weights, gradients and optimizer states are float32."""
    compile: bool = False
    """Compile the model's forward and backward (a minute at the start of every sitting)."""
    recompute: bool = False
    """Keep the inputs of layers alone for the backward, which then computes the rest again: less memory, a third more
    arithmetic."""

    def __post_init__(self) -> None:
        for name, least in (
            ("steps", 1),
            ("accumulation", 1),
            ("warmup", 0),
            ("eval_every", 0),
            ("threads", 0),
            ("muon_lr", 0),
            ("weight_decay", 0),
            ("save_every_s", 0),
            ("minutes", 0),
        ):
            if not getattr(self, name) >= least:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: {least} or more")
        for name in ("lr", "clip"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: more than 0")
        if not 0.0 <= self.final_lr <= 1.0:
            raise ConfigError(f"final_lr is {self.final_lr}; allowed: 0 to 1")
        if not 0.0 <= self.average < 1.0:
            raise ConfigError(f"average is {self.average}; allowed: 0 <= average < 1")

    def lr_scale(self, step: int) -> float:
        """Linear warmup, then a cosine down to `final_lr`; a factor on every peak rate."""
        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        done = max(0, step - self.warmup) / max(1, self.steps - self.warmup)
        return warm * (self.final_lr + (1.0 - self.final_lr) * 0.5 * (1.0 + math.cos(math.pi * done)))


class Loop(ABC):
    """One run in one directory: a state to resume from and `log.jsonl` with a record a step.

    Args:
        model: weights already drawn or copied; trained in place.
        config: the loop's own settings.
        directory: of the run; made if need be.
        evaluate: called with the model holding averaged weights, and the step; its numbers go into the record.
        on_record: called with every record, in the first process.
        world: the processes of the run; None is this one alone.

    Raises:
        ConfigError: if the config asks for what sharded weights do not do, or its batches cannot be divided.
    """

    def __init__(
        self,
        model: Decoder,
        *,
        config: TrainConfig,
        directory: Path,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
        world: World | None = None,
    ) -> None:
        self.world = world or World()
        _check_world(config, self.world)
        if self.world.mesh is None:
            model.to(find_device(config.device))
        if config.recompute:
            recompute(model)
        shard(model, self.world, dtype=getattr(torch, config.precision))
        self.model = model
        self.progress = Progress()
        self.config = config
        self.directory = directory
        self._evaluate = evaluate
        self._on_record = on_record
        self.average = {name: parameter.detach().clone() for name, parameter in trained(model).items()}
        self.optimizers = make_optimizers(model, config)

    @abstractmethod
    def _step(self) -> Record:
        """Take the next step: train, count it, and tell of it; "step" and "refused" are in the record."""

    def _first_record(self) -> Record | None:
        """What is to be logged before the first step, if anything."""
        return None

    @property
    def state_path(self) -> Path:
        return self.directory / "state.safetensors"

    @property
    def log_path(self) -> Path:
        return self.directory / "log.jsonl"

    def resume(self) -> None:
        """Go back to the last saved state, and drop the log's records of steps that came after it."""
        self.progress = load_state(self.state_path, self.model, self.average, self.optimizers)
        if self.world.leads and self.log_path.exists():
            lines = self.log_path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if _step_of(line) <= self.progress.step]
            write_atomically(self.log_path, "".join(f"{line}\n" for line in kept).encode())

    def save(self) -> None:
        """Write the state; the previous one survives if that fails."""
        save_state(self.state_path, self.progress, self.model, self.average, self.optimizers, self.world)

    def run(self) -> None:
        """Train to the last step, saving as it goes; an interrupt saves after the step in work and is passed on.

        Raises:
            SfumatoError: if the loss or gradient stayed non-finite; the last good state is kept.
            CheckpointError: if state or log cannot be written; the previous state survives.
        """
        if self.config.threads:
            torch.set_num_threads(self.config.threads)
        with _held_interrupts(self.world) as held:
            self._run(held)

    def _run(self, held: list[int]) -> None:
        if self.progress.step == 0 and self.world.leads:
            # A run that died before its first state leaves records that are not this run's.
            write_atomically(self.log_path, b"")
            first = self._first_record()
            if first is not None:
                self._log(first)
                if self._on_record:
                    self._on_record(first)
        began = saved_at = time.monotonic()
        refused_in_a_row = 0
        record: Record | None = None
        # Several processes save together or not at all: one that fails by itself would wait for the others.
        together = self.world.size == 1
        try:
            while self.progress.step < self.config.steps:
                with _uninterrupted():
                    record = self._step()
                refused_in_a_row = refused_in_a_row + 1 if record["refused"] else 0
                if refused_in_a_row == MOST_REFUSED_IN_A_ROW:
                    together = True
                    raise SfumatoError(
                        f"loss or gradient was not finite for {MOST_REFUSED_IN_A_ROW} steps up to step "
                        f"{self.progress.step}; the weights are those from before. Lower lr or muon_lr"
                    )
                record |= self._evaluation()
                with _uninterrupted():
                    self._log(record)
                    done, record = record, None
                if self._on_record and self.world.leads:
                    self._on_record(done)
                over = 0.0 < 60.0 * self.config.minutes < time.monotonic() - began
                due, stopped = self.world.any(
                    time.monotonic() - saved_at > self.config.save_every_s, bool(held) or over
                )
                if stopped:
                    together = True
                    raise KeyboardInterrupt
                if due:
                    self.save()
                    saved_at = time.monotonic()
            together = True
        finally:
            try:
                if record is not None:
                    # Its step is done, whatever stopped the evaluation.
                    self._log(record)
            finally:
                if together:
                    self.save()

    def _log(self, record: Record) -> None:
        if not self.world.leads:
            return
        try:
            with self.log_path.open("a", encoding="utf-8") as log:
                log.write(json.dumps(record) + "\n")
        except OSError as error:
            raise CheckpointError(f"cannot write {self.log_path}: {error.strerror}") from error

    def _apply(self, *, finite: bool) -> tuple[float, float, bool]:
        """Clip the gradient and follow it, if it and the loss are finite.

        Args:
            finite: whether the loss is.

        Returns:
            The gradient's norm, the factor on the learning rates, and whether the gradient was refused.
        """
        step, config = self.progress.step, self.config
        norm = self._clip()
        [refused] = self.world.any(not (finite and math.isfinite(norm)))
        scale = config.lr_scale(step)
        for optimizer in self.optimizers.values():
            if not refused:
                for group in optimizer.param_groups:
                    group["lr"] = group["peak_lr"] * scale
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if not refused:
            self._update_average(step)
        return norm, scale, refused

    def _clip(self) -> float:
        """Clip the gradient by its norm over all processes, which is returned."""
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
        if isinstance(norm, DTensor):
            norm = norm.full_tensor()
        torch.nn.utils.clip_grads_with_norm_(parameters, self.config.clip, norm)
        return float(norm)

    def _count(self, *, num_tokens: int, refused: bool, seconds: float) -> None:
        """Count a step that was taken."""
        self.progress = replace(
            self.progress,
            step=self.progress.step + 1,
            num_tokens=self.progress.num_tokens + num_tokens,
            num_refused=self.progress.num_refused + refused,
            seconds=self.progress.seconds + seconds,
        )

    def _update_average(self, step: int) -> None:
        # Early on the average follows closely, else it would carry the initial weights for 1/(1-decay) steps.
        decay = min(self.config.average, (1 + step) / (10 + step))
        parameters = [local(parameter.detach()) for parameter in trained(self.model).values()]
        torch._foreach_lerp_([local(average) for average in self.average.values()], parameters, 1.0 - decay)

    def _evaluation(self) -> Record:
        step, every = self.progress.step, self.config.eval_every
        due = step == self.config.steps or (every > 0 and step % every == 0)
        return self._scores() if due else {}

    def _scores(self) -> Record:
        """What the evaluation finds of the averaged weights."""
        if self._evaluate is None:
            return {}
        if self.world.mesh is not None:
            whole = self.averaged()
            return self._evaluate(self._unsharded(whole), self.progress.step) if self.world.leads else {}
        before = {name: parameter.detach().clone() for name, parameter in trained(self.model).items()}
        try:
            with _uninterrupted():
                put(self.model, self.average)
            self.model.eval()
            return dict(self._evaluate(self.model, self.progress.step))
        finally:
            with _uninterrupted():
                put(self.model, before)

    def averaged(self) -> dict[str, Tensor]:
        """The averaged weights of the whole model, corrections merged; in the first process, the others get none."""
        fixed = {name: one.detach() for name, one in self.model.named_parameters() if name not in self.average}
        return merged(self.model, self.world.whole(fixed | self.average))

    def _unsharded(self, weights: dict[str, Tensor]) -> Decoder:
        """A model of these weights in this process alone, to be evaluated."""
        model = Decoder(self.model.config)
        model.load_state_dict(weights)
        return model.to(self.model.device).eval()


Batches = tuple[list[TrainingBatch], int]
"""What one process takes in a step, and how many of its positions are no padding."""


class Trainer(Loop):
    """Training on documents.

    Args:
        model: weights already drawn or copied; trained in place.
        process: the noise put on canvases.
        source: gives documents.
        end_id: end token, which fills canvases.
        spec: how the model will read.
        packing, objective, config: see their classes.
        teacher: what says more than the data, if the objective asks for it; it is not trained.
        directory, evaluate, on_record, world: see `Loop`.
    """

    def __init__(
        self,
        model: Decoder,
        process: Process,
        source: Source,
        *,
        end_id: int,
        spec: GenerationSpec = DEFAULT,
        packing: PackingConfig,
        objective: ObjectiveConfig,
        config: TrainConfig,
        directory: Path,
        teacher: Decoder | None = None,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
        world: World | None = None,
    ) -> None:
        super().__init__(model, config=config, directory=directory, evaluate=evaluate, on_record=on_record, world=world)
        self._teacher = None if teacher is None else teacher.to(model.device).eval().requires_grad_(False)
        self._process = process
        self._source = source
        self._end_id = end_id
        self._spec = spec
        self._packing = packing
        self._objective = objective
        self._forward = torch.compile(model) if config.compile else model
        # An accelerator does not wait for the batches of its next step, which are made beside it.
        self._beside = ThreadPoolExecutor(1) if model.device.type != "cpu" else None
        self._ahead: tuple[int, Future[Batches]] | None = None

    def _step(self) -> Record:
        started = time.monotonic()
        step, config = self.progress.step, self.config
        share_done = step / config.steps
        batches, own_tokens = self._taken(step)
        weights = self._objective.weights(share_done)
        each = [batch.counts() for batch in batches]
        own_counts = {name: sum(counts[name] for counts in each) for name in each[0]}
        num_tokens, *found = self.world.sum(own_tokens, *own_counts.values())
        counts = {name: max(1, int(count)) for name, count in zip(own_counts, found, strict=True)}
        # Forwards gather weights from all, so that a first pass of one process is one of all.
        firsts = self.world.any(*(batch.first_pass(self.model) for batch in batches))
        batches = [replace(batch, accompanied=first) for batch, first in zip(batches, firsts, strict=True)]

        self.model.train()
        # Sharded weights are cast where they are gathered.
        autocast = config.precision == "bfloat16" and self.world.mesh is None
        means = dict.fromkeys(("canvas", "ar", *weights), 0.0)
        for batch in batches:
            with torch.autocast(self.model.device.type, torch.bfloat16, enabled=autocast):
                sums = losses(
                    self.model,
                    batch,
                    weights=weights,
                    teacher=self._teacher,
                    teacher_top=self._objective.teacher_top,
                    forward=self._forward,
                )
            terms = {name: term / counts[name] for name, term in sums.items()}
            total = torch.stack([weights.get(name, 0.0) * term for name, term in terms.items()]).sum()
            total.backward()  # type: ignore[no-untyped-call]
            means |= {name: means.get(name, 0.0) + term.item() for name, term in terms.items()}
        means = dict(zip(means, self.world.sum(*means.values()), strict=True))
        loss = sum(weight * means[name] for name, weight in weights.items())
        norm, scale, refused = self._apply(finite=math.isfinite(sum(means.values())))
        seconds = time.monotonic() - started
        self._count(num_tokens=int(num_tokens), refused=refused, seconds=seconds)
        return {
            "step": step + 1,
            "loss": loss,
            **{f"{name}_loss": mean for name, mean in means.items()},
            "gradient_norm": norm,
            "lr_scale": scale,
            "refused": refused,
            "num_tokens": self.progress.num_tokens,
            "tokens_per_s": num_tokens / seconds,
        }

    def _taken(self, step: int) -> Batches:
        """This process's share of a step; that of the next is begun."""
        begun, self._ahead = self._ahead, None
        if begun is not None and begun[0] == step:
            made = begun[1].result()
        else:
            made = self._batches(step, step / self.config.steps)
        if self._beside is not None and step + 1 < self.config.steps:
            share_done = (step + 1) / self.config.steps
            self._ahead = (step + 1, self._beside.submit(self._batches, step + 1, share_done))
        return made

    def _batches(self, step: int, share_done: float) -> Batches:
        """This process's share of a step. What a batch holds depends on its number in the run, and on no process."""
        batches, num_tokens = [], 0
        for part in self.world.share(self.config.accumulation):
            index = step * self.config.accumulation + part
            generator = torch.Generator().manual_seed(mix(self.config.seed, index))
            packed = pack(
                self._source,
                self._packing.at(share_done),
                seed=self.config.seed,
                step=index,
                end_id=self._end_id,
                spec=self._spec,
            )
            num_tokens += packed.num_tokens
            batches.append(
                prepare(
                    packed,
                    self._process,
                    self._objective,
                    share_done=share_done,
                    generator=generator,
                    device=self.model.device,
                )
            )
        return batches, num_tokens


def is_of_memory(error: BaseException) -> bool:
    """Whether what went wrong is that there is no more memory, of a device or of the host."""
    # What the CPU's allocator says has no type of its own.
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)


def make_optimizers(model: Decoder, config: TrainConfig) -> dict[str, torch.optim.Optimizer]:
    """AdamW, and Muon for the matrices inside the blocks if it has a learning rate.

    Source: Muon: Jordan et al. 2024; learning rates matched to AdamW's as in Liu et al. 2025, arXiv 2502.16982.
    """
    inside = [one for name, one in trained(model).items() if ".layers." in name and one.dim() == 2]
    muon = inside if config.muon_lr > 0 else []
    taken = {id(parameter) for parameter in muon}
    rest = [parameter for parameter in trained(model).values() if id(parameter) not in taken]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizers: dict[str, torch.optim.Optimizer] = {
        "adamw": torch.optim.AdamW([group for group in groups if group["params"]], lr=config.lr, betas=(0.9, 0.95))
    }
    if muon:
        optimizers["muon"] = torch.optim.Muon(
            muon, lr=config.muon_lr, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"
        )
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return optimizers


def _check_world(config: TrainConfig, world: World) -> None:
    """Refuse what cannot be divided over the processes, or is not done with sharded weights."""
    if config.accumulation % world.size:
        raise ConfigError(
            f"accumulation is {config.accumulation}; allowed with {world.size} processes: a multiple of {world.size}, "
            "as each takes as many batches of a step"
        )
    if world.mesh is not None and config.compile:
        raise ConfigError("compile is true; allowed under torchrun: false")


@contextmanager
def _held_interrupts(world: World) -> Iterator[list[int]]:
    """Note interrupts, so that several processes stop after the same step; one alone is interrupted as ever."""
    held: list[int] = []
    if world.size == 1 or threading.current_thread() is not threading.main_thread():
        yield held
        return
    previous = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold an interrupt back to the end of the block: half an update must not reach the state."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if held:
        signal.raise_signal(signal.SIGINT)


def mix(seed: int, step: int) -> int:
    digest = hashlib.sha256(f"noise {seed} {step}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _step_of(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        # A kill can cut the last record short.
        return 2**62
