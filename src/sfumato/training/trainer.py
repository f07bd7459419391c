"""The training loop. Pretraining, the autoregressive twin and adaptation differ only in their recipe; learning from
rewards (`rl`) differs in what a step is.

A batch's randomness depends only on the seed and its number in the run, so resuming needs only the state of `state.py`,
and several processes can divide a step's batches in any way. The loop knows no scores and no
terminal: evaluation and reporting are callables.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from sfumato.config import check_range
from sfumato.data.packing import PackingConfig, Source, pack
from sfumato.diffusion.process import Process
from sfumato.errors import ConfigError, SfumatoError
from sfumato.interrupts import Interrupted, Signals
from sfumato.models.decoder import Decoder
from sfumato.models.lora import merged
from sfumato.models.model import find_device
from sfumato.spec import DEFAULT, GenerationSpec
from sfumato.training.distributed import World, local, recompute, shard, trained
from sfumato.training.objective import ObjectiveConfig, TrainingBatch, losses, prepare
from sfumato.training.optimizers import make_optimizers
from sfumato.training.state import STATE, Log, Progress, Record, load_state, put, save_state

MAX_REFUSED_IN_A_ROW = 20


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the training loop."""

    steps: int
    """Optimizer steps of the whole run."""
    lr: float = 1e-3
    """Peak learning rate of AdamW: embeddings, norms, biases and, without Muon, everything."""
    muon_lr: float = 0.0
    """Peak learning rate of Muon for matrices inside the blocks; 0 leaves them to AdamW."""
    warmup: int = 100
    """Steps of linear warmup."""
    final_lr: float = 0.05
    """Final learning rate of the cosine, as a share of the peak."""
    weight_decay: float = 0.01
    """Decoupled weight decay of matrices."""
    clip: float = 1.0
    """Maximum gradient norm."""
    average: float = 0.999
    """Decay of the moving average of the weights, which is evaluated and shipped; 0 uses the weights themselves."""
    accumulation: int = 1
    """Packed batches per optimizer step; must be a multiple of the number of processes."""
    seed: int = 0
    """Random seed for weights, data order and noise."""
    eval_every: int = 0
    """Steps between evaluations; 0 evaluates only at the end."""
    save_every_s: float = 120.0
    """Seconds between saved states."""
    minutes: float = 0.0
    """Minutes after which a session ends as if interrupted, with its state saved; 0 never does."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of a single process; auto takes an accelerator if there is one."""
    threads: int = 0
    """CPU threads; 0 keeps torch's default."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Compute type; weights, gradients and optimizer states are float32."""
    compile: bool = False
    """Compile the model's forward and backward (a minute at the start of every session)."""
    recompute: bool = False
    """Keep only the layers' inputs and recompute the rest in the backward: less memory, a third more arithmetic."""

    def __post_init__(self) -> None:
        check_range(self, "steps accumulation", 1)
        check_range(self, "warmup eval_every threads muon_lr weight_decay save_every_s minutes", 0)
        check_range(self, "lr clip", 0, above=True)
        check_range(self, "final_lr", 0, 1)
        if not 0.0 <= self.average < 1.0:
            raise ConfigError(f"average is {self.average}; allowed: 0 or more, less than 1")

    def lr_scale(self, step: int) -> float:
        """Linear warmup, then a cosine down to `final_lr`; a factor on every peak rate."""
        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        done = max(0, step - self.warmup) / max(1, self.steps - self.warmup)
        return warm * (self.final_lr + (1.0 - self.final_lr) * 0.5 * (1.0 + math.cos(math.pi * done)))


class Loop(ABC):
    """A run in a directory, with a state to resume from and `log.jsonl` with one record per step.

    Args:
        model: with initial weights; trained in place.
        directory: run directory; created if missing.
        evaluate: called with the model holding averaged weights, and the step; its figures join the record.
        on_record: called with every record, in the first process.
        world: the processes of the run; None is this one alone.

    Raises:
        ConfigError: if a setting does not work with sharded weights, or batches cannot be divided equally.
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
        self.world.check(config.accumulation, compile=config.compile)
        if self.world.mesh is None:
            model.to(find_device(config.device))
        if config.recompute:
            recompute(model)
        shard(model, self.world, dtype=getattr(torch, config.precision))
        self.model = model
        self.progress = Progress()
        self.config, self.directory = config, directory
        self._evaluate, self._on_record = evaluate, on_record
        self._signals = Signals()
        # Whether a step has begun to change the weights and has not been counted: resuming would take it again.
        self._torn = False
        self.log = Log(directory / "log.jsonl")
        self.average = {name: parameter.detach().clone() for name, parameter in trained(model).items()}
        self.optimizers = make_optimizers(model, lr=config.lr, muon_lr=config.muon_lr, weight_decay=config.weight_decay)

    @abstractmethod
    def _step(self) -> Record:
        """Take the next step and return its record, including "step" and "refused"."""

    def _first_record(self) -> Record | None:
        """Figures to log before the first step, if any."""
        return None

    @property
    def state_path(self) -> Path:
        return self.directory / STATE

    def resume(self) -> None:
        """Restore the last saved state, and drop log records of later steps.

        Raises:
            ConfigError: if the run has already taken more steps than configured.
            CheckpointError: if the state cannot be read.
        """
        self.progress = load_state(self.state_path, self.model, self.average, self.optimizers)
        if self.progress.step > self.config.steps:
            raise ConfigError(
                f"train.steps is {self.config.steps} and the state in {self.directory} is at step "
                f"{self.progress.step}; allowed: {self.progress.step} or more"
            )
        if self.world.leads:
            self.log.cut(self.progress.step)

    def save(self) -> None:
        """Write the state; the previous one survives a failure."""
        save_state(self.state_path, self.progress, self.model, self.average, self.optimizers, self.world)

    def run(self) -> None:
        """Train to the last step, saving regularly; SIGINT and SIGTERM save after the current step.

        Raises:
            Interrupted: at a signal, with the state saved; also when a session's minutes are up.
            SfumatoError: if the loss or gradient stays non-finite; the last good state is kept.
            CheckpointError: if state or log cannot be written; the previous state survives.
        """
        before = torch.get_num_threads()
        torch.set_num_threads(self.config.threads or before)
        try:
            with self._signals:
                self._run()
        finally:
            torch.set_num_threads(before)
        self._signals.check()

    def _run(self) -> None:
        if self.progress.step == 0 and self.world.leads:
            # A run that died before its first state leaves records that are not this run's.
            self.log.cut(-1)
            if (first := self._first_record()) is not None:
                self._tell(first)
        began = saved_at = time.monotonic()
        refused_in_a_row = 0
        record: Record | None = None
        # Several processes save together or not at all: a process that fails alone would wait for the others.
        together = self.world.size == 1
        try:
            while self.progress.step < self.config.steps:
                record = self._step()
                refused_in_a_row = refused_in_a_row + 1 if record["refused"] else 0
                if refused_in_a_row == MAX_REFUSED_IN_A_ROW:
                    together = True
                    raise SfumatoError(
                        f"loss or gradient was not finite for {MAX_REFUSED_IN_A_ROW} steps up to step "
                        f"{self.progress.step}; the weights are those from before. Lower lr or muon_lr"
                    )
                record |= self._evaluation()
                done, record = record, None
                self._tell(done)
                over = 0.0 < 60.0 * self.config.minutes < time.monotonic() - began
                due, stopped = self.world.any(
                    time.monotonic() - saved_at > self.config.save_every_s, self._signals.arrived is not None or over
                )
                if stopped:
                    together = True
                    raise Interrupted(self._signals.arrived or signal.SIGINT)
                if due:
                    self.save()
                    saved_at = time.monotonic()
            together = True
        finally:
            try:
                if record is not None and self.world.leads:
                    # Its step is done, whatever stopped the evaluation.
                    self.log.append(record)
            finally:
                if together and not self._torn:
                    self.save()

    def _tell(self, record: Record) -> None:
        if self.world.leads:
            self.log.append(record)
            if self._on_record:
                self._on_record(record)

    def _apply(self, *, finite: bool) -> tuple[float, float, bool]:
        """Clip the gradient and apply it, if it and the loss are finite.

        Returns:
            The gradient's norm, the factor on the learning rates, and whether the gradient was refused.
        """
        step, config = self.progress.step, self.config
        norm = self._clip()
        [refused] = self.world.any(not (finite and math.isfinite(norm)))
        scale = config.lr_scale(step)
        self._torn = True
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
        """Clip the gradient by its norm over all processes, and return that norm."""
        parameters = list(self.model.parameters())
        norm = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
        if isinstance(norm, DTensor):
            norm = norm.full_tensor()
        torch.nn.utils.clip_grads_with_norm_(parameters, self.config.clip, norm)
        return float(norm)

    def _count(self, *, num_tokens: int, refused: bool, seconds: float) -> None:
        self._torn = False
        self.progress = replace(
            self.progress,
            step=self.progress.step + 1,
            num_tokens=self.progress.num_tokens + num_tokens,
            num_refused=self.progress.num_refused + refused,
            seconds=self.progress.seconds + seconds,
        )

    def _update_average(self, step: int) -> None:
        # Follow closely at first; otherwise the average would carry the initial weights for 1/(1-decay) steps.
        decay = min(self.config.average, (1 + step) / (10 + step))
        parameters = [local(parameter.detach()) for parameter in trained(self.model).values()]
        torch._foreach_lerp_([local(average) for average in self.average.values()], parameters, 1.0 - decay)

    def _evaluation(self) -> Record:
        step, every = self.progress.step, self.config.eval_every
        return self._scores() if step == self.config.steps or (every > 0 and step % every == 0) else {}

    def _scores(self) -> Record:
        """Evaluate the averaged weights."""
        if self._evaluate is None:
            return {}
        if self.world.mesh is not None:
            whole = self.averaged()
            return self._evaluate(self._unsharded(whole), self.progress.step) if self.world.leads else {}
        before = {name: parameter.detach().clone() for name, parameter in trained(self.model).items()}
        try:
            put(self.model, self.average)
            self.model.eval()
            # Sizes differ from call to call, and compiled layers would be compiled again for each.
            eager = torch.compiler.set_stance("force_eager") if self.config.compile else contextlib.nullcontext()
            with self._signals.raised(), eager:
                return dict(self._evaluate(self.model, self.progress.step))
        finally:
            put(self.model, before)

    def averaged(self) -> dict[str, Tensor]:
        """The averaged weights of the whole model with corrections merged, in the first process; the others get
        none."""
        fixed = {name: one.detach() for name, one in self.model.named_parameters() if name not in self.average}
        return merged(self.model, self.world.whole(fixed | self.average))

    def _unsharded(self, weights: dict[str, Tensor]) -> Decoder:
        model = Decoder(self.model.config)
        model.load_state_dict(weights)
        return model.to(self.model.device).eval()


Batches = tuple[list[TrainingBatch], int]  # of a step of one process, and its positions that are no padding


class Trainer(Loop):
    """Training on documents.

    Args:
        source: of documents; None with `make_batch`.
        end_id: end token, which pads canvases.
        make_batch: alternative to documents: returns a batch by its number, with its number of positions without
            padding.
        teacher: for the objective; not trained.
        model, packing, objective, config, directory, evaluate, on_record, world: see `Loop` and their classes.
    """

    def __init__(
        self,
        model: Decoder,
        process: Process,
        source: Source | None,
        *,
        end_id: int,
        spec: GenerationSpec = DEFAULT,
        packing: PackingConfig,
        objective: ObjectiveConfig,
        config: TrainConfig,
        directory: Path,
        make_batch: Callable[[int], tuple[TrainingBatch, int]] | None = None,
        teacher: Decoder | None = None,
        evaluate: Callable[[Decoder, int], dict[str, float]] | None = None,
        on_record: Callable[[Record], None] | None = None,
        world: World | None = None,
    ) -> None:
        super().__init__(model, config=config, directory=directory, evaluate=evaluate, on_record=on_record, world=world)
        self._teacher = None if teacher is None else teacher.to(model.device).eval().requires_grad_(False)
        self._process, self._source, self._end_id, self._spec = process, source, end_id, spec
        self._packing, self._objective, self._make_batch = packing, objective, make_batch
        if config.compile:
            # Compile the layers, not the whole model: a model bound to a lexicon would be a new one for each batch.
            model.model.compile(dynamic=model.reads_lexemes)
        # An accelerator does not wait for its next batches, which are made in the meantime.
        self._prefetcher = ThreadPoolExecutor(1) if model.device.type != "cpu" else None
        self._prefetched: tuple[int, Future[Batches]] | None = None

    def _step(self) -> Record:
        started = time.monotonic()
        step, config, objective = self.progress.step, self.config, self._objective
        batches, own_tokens = self._taken(step)
        weights = objective.weights(step / config.steps)
        each = [batch.counts() for batch in batches]
        own_counts = {name: sum(counts[name] for counts in each) for name in each[0]}
        num_tokens, *found = self.world.sum(own_tokens, *own_counts.values())
        counts = {name: max(1, int(count)) for name, count in zip(own_counts, found, strict=True)}
        # Forwards gather weights from all processes, so a first pass of one is a first pass of all.
        firsts = self.world.any(*(batch.first_pass(self.model) for batch in batches))
        batches = [replace(batch, accompanied=first) for batch, first in zip(batches, firsts, strict=True)]

        self.model.train()
        # Sharded weights are cast when they are gathered.
        autocast = config.precision == "bfloat16" and self.world.mesh is None
        means = dict.fromkeys(("canvas", "ar", *weights), 0.0)
        for batch in batches:
            with torch.autocast(self.model.device.type, torch.bfloat16, enabled=autocast):
                sums = losses(
                    self.model, batch, weights=weights, teacher=self._teacher, teacher_top=objective.teacher_top
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
        """This process's share of a step; also starts making the next one."""
        begun, self._prefetched = self._prefetched, None
        made = begun[1].result() if begun is not None and begun[0] == step else self._batches(step)
        if self._prefetcher is not None and step + 1 < self.config.steps:
            self._prefetched = (step + 1, self._prefetcher.submit(self._batches, step + 1))
        return made

    def _batches(self, step: int) -> Batches:
        """This process's share of a step. A batch depends on its number in the run, and not on the process."""
        share_done = step / self.config.steps
        first = step * self.config.accumulation
        made = [self._make(first + part, share_done) for part in self.world.share(self.config.accumulation)]
        return [batch for batch, _ in made], sum(count for _, count in made)

    def _make(self, index: int, share_done: float) -> tuple[TrainingBatch, int]:
        """A batch of the run by number, and its number of positions without padding."""
        if self._make_batch is not None:
            batch, count = self._make_batch(index)
            return batch.to(self.model.device), count
        assert self._source is not None, "batches come from one or the other"
        packed = pack(
            self._source,
            self._packing.at(share_done),
            seed=self.config.seed,
            step=index,
            end_id=self._end_id,
            spec=self._spec,
            max_tokens=self.model.config.max_position_embeddings,
        )
        batch = prepare(
            packed,
            self._process,
            self._objective,
            share_done=share_done,
            generator=torch.Generator().manual_seed(mix(self.config.seed, index)),
            device=self.model.device,
        )
        return batch, packed.num_tokens


def mix(seed: int, step: int) -> int:
    digest = hashlib.sha256(f"noise {seed} {step}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
