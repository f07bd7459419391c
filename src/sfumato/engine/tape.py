"""Computations of a CPU on a tape: what was computed once is computed again without the program that asked for it.

A step of a small model is a thousand calls, of which two in three look at memory in another shape or ask for some, and
each comes out of a program that decides nothing anew: a third of the time of a step goes there. The tape keeps the
calls that compute, with their tensors where they were, as a CUDA graph does on a GPU.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import Enum, auto
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from sfumato.engine.replay import UnrepeatableError

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[], object]

_ATEN = torch.ops.aten
# Bytes of the smallest block; others have powers of two, so that one stands in for another.
_LEAST = 4096
# Blocks start at such addresses, as torch's own memory does.
_ALIGNMENT = 64
_EMPTY = {
    _ATEN.empty.memory_format,
    _ATEN.empty_like.default,
    _ATEN.empty_strided.default,
    _ATEN.new_empty.default,
    _ATEN.new_empty_strided.default,
}
# Those that give the same to the last bit where they are told where to put it; of the others the result is copied.
_INTO: dict[Any, Callable[..., Any]] = {
    _ATEN._int_mm.default: torch._int_mm,
    _ATEN.add.Tensor: torch.add,
    _ATEN.mul.Tensor: torch.mul,
    _ATEN.neg.default: torch.neg,
    _ATEN.cat.default: torch.cat,
    _ATEN.index_select.default: torch.index_select,
}
# The same operations by a shorter way.
_FAST: dict[Any, Callable[..., Any]] = {
    _ATEN.index_copy_.default: Tensor.index_copy_,
    _ATEN.linear.default: functional.linear,
    _ATEN.rms_norm.default: torch.rms_norm,
    _ATEN.scaled_dot_product_attention.default: functional.scaled_dot_product_attention,
    _ATEN.silu.default: functional.silu,
}
_UNREPEATABLE = {
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
    torch.Tag.nondeterministic_seeded,
}


_READS = {Tensor.tolist, Tensor.numpy, Tensor.__array__}


class _Kind(Enum):
    """What there is to keep of an operation."""

    LOOKS = auto()
    """Nothing, if it looks at memory in another shape, as most of these do; else what it copies."""
    MEMORY = auto()
    """Its memory."""
    WRITES = auto()
    """That it writes into what it was given."""
    COMPUTES = auto()
    """What it computes."""
    UNSURE = auto()
    """It may depend on chance, or on what its tensors hold."""


@functools.cache
def _kind(func: Any) -> _Kind:
    if not _UNREPEATABLE.isdisjoint(func.tags):
        return _Kind.UNSURE
    if func in _EMPTY:
        return _Kind.MEMORY
    if any(one.alias_info is not None and one.alias_info.is_write for one in func._schema.arguments):
        return _Kind.WRITES
    return _Kind.LOOKS if any(one.alias_info is not None for one in func._schema.returns) else _Kind.COMPUTES


def _nothing() -> None:
    return None


class _Block:
    """Memory for one tensor at a time."""

    def __init__(self, num_bytes: int) -> None:
        raw = np.empty(num_bytes + _ALIGNMENT, np.uint8)
        self._bytes = raw[-raw.ctypes.data % _ALIGNMENT :][:num_bytes]
        self._whole = torch.from_numpy(self._bytes)
        self._held: Callable[[], Array | None] = _nothing
        self.num_bytes, self.address = num_bytes, self._whole.data_ptr()

    @property
    def free(self) -> bool:
        """Whether no tensor is left that was made here by `give`, and no view of one."""
        return self._held() is None

    def give(self, like: Tensor) -> Tensor:
        """A tensor here, in the type, shape and strides of another."""
        own = self._bytes[:]
        # Tensors keep what they are over, and views the memory of their tensor.
        self._held = weakref.ref(own)
        return torch.from_numpy(own).view(like.dtype).as_strided(like.shape, like.stride())

    def seen(self, tensor: Tensor) -> Tensor:
        """The same as a tensor here, without being one that keeps the block."""
        return self._whole.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


class Tapes:
    """Records computations, in memory that all of its recordings share: what one gives holds until the next is played.

    It is a `sfumato.engine.replay.Record`.
    """

    def __init__(self) -> None:
        self._by_size: dict[int, list[_Block]] = {}
        self._by_address: dict[int, _Block] = {}
        # Whose result is there since it was recorded.
        self._new: _Tape | None = None

    @property
    def num_bytes(self) -> int:
        """Memory of all recordings."""
        return sum(block.num_bytes for block in self._by_address.values())

    def __call__(self, compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Compute, and give what does it again; the first time, the result that is there.

        Raises:
            UnrepeatableError: if the computation asks for numbers, or draws them.
        """
        tape = _Tape(self)
        # Loops are there if a model uses them.
        loops = sys.modules.get("sfumato.loops.compiling")
        with _Guard(), tape, nullcontext() if loops is None else loops.recorded(tape.calls):
            out = compute()
        calls = tape.calls
        out = cast(Tensor, self.seen(out))
        self._new = tape

        def play() -> Tensor:
            if self._new is not tape:
                for call in calls:
                    call()
            self._new = None
            return out

        return play

    def own(self, like: Tensor) -> Tensor:
        """A tensor in the shared memory, in the type, shape and strides of another."""
        if not like.numel():
            return like
        last = sum((size - 1) * stride for size, stride in zip(like.shape, like.stride(), strict=True))
        num_bytes = max(_LEAST, 1 << ((last + 1) * like.itemsize - 1).bit_length())
        blocks = self._by_size.setdefault(num_bytes, [])
        block = next((block for block in blocks if block.free), None)
        if block is None:
            block = _Block(num_bytes)
            blocks.append(block)
            self._by_address[block.address] = block
        return block.give(like)

    def seen(self, value: Any) -> Any:
        """An argument as the tape keeps it: what is in the shared memory, without holding it there."""
        if isinstance(value, Tensor):
            block = self._by_address.get(value.untyped_storage().data_ptr())
            # What is elsewhere, like a view of weights, the tape keeps as it is.
            return value if block is None else block.seen(value)
        return [self.seen(one) for one in value] if isinstance(value, (list, tuple)) else value


class _Guard(TorchFunctionMode):
    """Refuses what reads tensors behind torch's back, where a tape would not see it."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _READS:
            raise UnrepeatableError(f"{func.__name__} asks what a tensor holds")
        return func(*args, **(kwargs or {}))


class _Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps what computes of all that torch is asked to do, and has it compute in shared memory."""

    def __init__(self, memory: Tapes) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._memory = memory
        self.calls: list[Call] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch would import its compiler, for more than a second, to leave this out of what is compiled.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kind = _kind(func)
        if kind is _Kind.UNSURE and not _is_certain(func, args):
            raise UnrepeatableError(f"{func} gives what nobody knows beforehand")
        out = func(*args, **kwargs)
        if kind is _Kind.LOOKS and _is_within(out, args[0]):
            return out
        if kind is _Kind.MEMORY:
            return self._memory.own(out)
        given, named = self._memory.seen(args), {name: self._memory.seen(one) for name, one in kwargs.items()}
        again = partial(_FAST.get(func, func), *given, **named)
        if kind is _Kind.WRITES:
            self.calls.append(again)
            return out
        if not isinstance(out, Tensor):
            if not isinstance(out, (list, tuple)) or not all(isinstance(one, Tensor) for one in out):
                raise UnrepeatableError(f"{func} gives something else than tensors")
            owns = [self._memory.own(one).copy_(one) for one in out]
            self.calls.append(partial(_compute_each_into, [self._memory.seen(own) for own in owns], again))
            return type(out)(owns)
        own = self._memory.own(out).copy_(out)
        into: Tensor = self._memory.seen(own)
        if func in _INTO:
            self.calls.append(partial(_INTO[func], *given, **named, out=into))
        elif (
            func is _ATEN.linear.default
            and len(given) == 2
            and all(one.is_contiguous() and one.dim() > 1 for one in (into, given[0]))
        ):
            # The same product to the last bit, told where to put it.
            self.calls.append(partial(torch.mm, given[0].flatten(0, -2), given[1].t(), out=into.flatten(0, -2)))
        else:
            self.calls.append(partial(_compute_into, into, again))
        return own


def _is_within(out: Any, given: Tensor) -> bool:
    place = given.untyped_storage().data_ptr()
    return all(one.untyped_storage().data_ptr() == place for one in (out if isinstance(out, (list, tuple)) else (out,)))


def _compute_into(into: Tensor, compute: Callable[[], Tensor]) -> None:
    into.copy_(compute())


def _compute_each_into(into: Sequence[Tensor], compute: Callable[[], Sequence[Tensor]]) -> None:
    for place, one in zip(into, compute(), strict=True):
        place.copy_(one)


def _is_certain(func: Any, args: Sequence[Any]) -> bool:
    """Whether what may depend on chance, or on what its tensors hold, does not: attention without dropout, as it is
    asked for here; and choosing by numbers, of which there are as many as there are."""
    if func is _ATEN.index.Tensor:
        return all(one is None or one.dtype is not torch.bool for one in args[1])
    return func is _ATEN.scaled_dot_product_attention.default
