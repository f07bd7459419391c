"""The training loop, the only one: pretraining, the autoregressive twin and adaptation differ in their recipe, learning
from rewards (`rl`) in what a step is.

All randomness of a step comes from (seed, step), so resuming needs nothing but the state of `state.py`. The loop
knows nothing of tasks' scores or terminals: evaluation and reporting are callables it is given.
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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sfumato.data.packing import PackingConfig, Source, pack
from sfumato.diffusion.process import Process
from sfumato.errors import CheckpointError, ConfigError, SfumatoError
from sfumato.models.decoder import Decoder
from sfumato.storage import write_atomically
from sfumato.training.objective import ObjectiveConfig, TrainingBatch, losses, prepare
from sfumato.training.state import Progress, load_state, save_state

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
    """Packed batches of one optimizer step."""
    seed: int = 0
    """Of weights, data order and noise."""
    eval_every: int = 0
    """Steps between evaluations; 0 evaluates only at the end."""
    save_every_s: float = 120.0
    """Seconds between saved states."""
    threads: int = 0
    """CPU threads; 0 leaves torch's choice."""
    compile: bool = False
    """Compile the model's forward and backward (a minute at the start of every sitting)."""

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
    """One run in one directory: `state.safetensors` to resume from and `log.jsonl` with a record a step.

    Args:
        model: weights already drawn or copied; trained in place.
        config: the loop's own settings.
        directory: of the run; made if need be.
        evaluate: called with the model holding averaged weights, and the step; its numbers go into the record.
        on_record: called with every record.
    """

    def __init__(
        self,
        model: Decoder,
        *,
        config: TrainConfig,
        directory: Path,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
    ) -> None:
        self.model = model
        self.progress = Progress()
        self.config = config
        self.directory = directory
        self._evaluate = evaluate
        self._on_record = on_record
        self.average = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
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
        if self.log_path.exists():
            lines = self.log_path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if _step_of(line) <= self.progress.step]
            write_atomically(self.log_path, "".join(f"{line}\n" for line in kept).encode())

    def save(self) -> None:
        """Write the state; the previous one survives if that fails."""
        save_state(self.state_path, self.progress, self.model, self.average, self.optimizers)

    def run(self) -> None:
        """Train to the last step, saving as it goes; an interrupt saves after the step in work and is passed on.

        Raises:
            SfumatoError: if the loss or gradient stayed non-finite; the last good state is kept.
            CheckpointError: if state or log cannot be written; the previous state survives.
        """
        if self.config.threads:
            torch.set_num_threads(self.config.threads)
        if self.progress.step == 0:
            # A run that died before its first state leaves records that are not this run's.
            write_atomically(self.log_path, b"")
            first = self._first_record()
            if first is not None:
                self._log(first)
                if self._on_record:
                    self._on_record(first)
        saved_at = time.monotonic()
        refused_in_a_row = 0
        record: Record | None = None
        try:
            while self.progress.step < self.config.steps:
                with _uninterrupted():
                    record = self._step()
                refused_in_a_row = refused_in_a_row + 1 if record["refused"] else 0
                if refused_in_a_row == MOST_REFUSED_IN_A_ROW:
                    raise SfumatoError(
                        f"loss or gradient was not finite for {MOST_REFUSED_IN_A_ROW} steps up to step "
                        f"{self.progress.step}; the weights are those from before. Lower lr or muon_lr"
                    )
                record |= self._evaluation()
                with _uninterrupted():
                    self._log(record)
                    done, record = record, None
                if self._on_record:
                    self._on_record(done)
                if time.monotonic() - saved_at > self.config.save_every_s:
                    self.save()
                    saved_at = time.monotonic()
        finally:
            try:
                if record is not None:
                    # Its step is done, whatever stopped the evaluation.
                    self._log(record)
            finally:
                self.save()

    def _log(self, record: Record) -> None:
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
        norm = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip))
        refused = not (finite and math.isfinite(norm))
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
        parameters: list[Tensor] = [parameter.detach() for parameter in self.model.parameters()]
        torch._foreach_lerp_(list(self.average.values()), parameters, 1.0 - decay)

    def _evaluation(self) -> Record:
        step, every = self.progress.step, self.config.eval_every
        due = step == self.config.steps or (every > 0 and step % every == 0)
        return self._scores() if due else {}

    def _scores(self) -> Record:
        """What the evaluation finds of the averaged weights."""
        if self._evaluate is None:
            return {}
        trained = {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}
        try:
            with _uninterrupted():
                self.model.load_state_dict(self.average)
            self.model.eval()
            return dict(self._evaluate(self.model, self.progress.step))
        finally:
            with _uninterrupted():
                self.model.load_state_dict(trained)


class Trainer(Loop):
    """Training on documents.

    Args:
        model: weights already drawn or copied; trained in place.
        process: the noise put on canvases.
        source: gives documents.
        end_id: end token, which fills canvases.
        logit_shift: canvases too predict the token after each position.
        packing, objective, config: see their classes.
        directory, evaluate, on_record: see `Loop`.
    """

    def __init__(
        self,
        model: Decoder,
        process: Process,
        source: Source,
        *,
        end_id: int,
        logit_shift: bool = False,
        packing: PackingConfig,
        objective: ObjectiveConfig,
        config: TrainConfig,
        directory: Path,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
    ) -> None:
        super().__init__(model, config=config, directory=directory, evaluate=evaluate, on_record=on_record)
        self._process = process
        self._source = source
        self._end_id = end_id
        self._logit_shift = logit_shift
        self._packing = packing
        self._objective = objective
        self._forward = torch.compile(model) if config.compile else model

    def _step(self) -> Record:
        started = time.monotonic()
        step, config = self.progress.step, self.config
        share_done = step / config.steps
        generator = torch.Generator().manual_seed(mix(config.seed, step))
        batches, num_tokens = self._batches(step, share_done, generator)
        canvas_count = max(1, sum(int(batch.on_canvas_BT.sum()) for batch in batches))
        clean_count = max(1, sum(int(batch.on_clean_BT.sum()) for batch in batches))
        length_count = max(1, sum(int((batch.lengths_BT > 0).sum()) for batch in batches))

        self.model.train()
        counts = (canvas_count, clean_count, length_count)
        weights = (self._objective.canvas_weight, self._objective.ar_weight, self._objective.length_weight)
        terms = [0.0, 0.0, 0.0]
        for batch in batches:
            sums = losses(self.model, batch, forward=self._forward)
            means = [term / count for term, count in zip(sums, counts, strict=True)]
            total = sum(weight * mean for weight, mean in zip(weights, means, strict=True))
            total.backward()  # type: ignore[union-attr]
            terms = [term + mean.item() for term, mean in zip(terms, means, strict=True)]
        loss = sum(weight * term for weight, term in zip(weights, terms, strict=True))
        norm, scale, refused = self._apply(finite=math.isfinite(sum(terms)))
        seconds = time.monotonic() - started
        self._count(num_tokens=num_tokens, refused=refused, seconds=seconds)
        return {
            "step": step + 1,
            "loss": loss,
            "canvas_loss": terms[0],
            "ar_loss": terms[1],
            **({"length_loss": terms[2]} if self.model.length_buckets else {}),
            "gradient_norm": norm,
            "lr_scale": scale,
            "refused": refused,
            "num_tokens": self.progress.num_tokens,
            "tokens_per_s": num_tokens / seconds,
        }

    def _batches(self, step: int, share_done: float, generator: torch.Generator) -> tuple[list[TrainingBatch], int]:
        batches, num_tokens = [], 0
        for part in range(self.config.accumulation):
            index = step * self.config.accumulation + part
            packed = pack(self._source, self._packing, seed=self.config.seed, step=index, end_id=self._end_id)
            num_tokens += packed.num_tokens
            batches.append(
                prepare(
                    packed,
                    self._process,
                    self._objective,
                    share_done=share_done,
                    generator=generator,
                    device=self.model.device,
                    logit_shift=self._logit_shift,
                )
            )
        return batches, num_tokens


def make_optimizers(model: Decoder, config: TrainConfig) -> dict[str, torch.optim.Optimizer]:
    """AdamW, and Muon for the matrices inside the blocks if it has a learning rate.

    Source: Muon: Jordan et al. 2024; learning rates matched to AdamW's as in Liu et al. 2025, arXiv 2502.16982.
    """
    inside = [parameter for name, parameter in model.named_parameters() if ".layers." in name and parameter.dim() == 2]
    muon = inside if config.muon_lr > 0 else []
    taken = {id(parameter) for parameter in muon}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in taken]
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
