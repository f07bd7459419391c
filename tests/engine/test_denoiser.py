"""A denoiser over a cache gives what one uncached forward over prefix and canvas gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from sfumato.engine.denoiser import CachedDenoiser, PrefixDenoiser, make_denoiser
from sfumato.models.attention import AttentionSpec
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec

# R rows, L canvas, V vocabulary

Draw = Callable[..., list[int]]
PLAIN = GenerationSpec(canvas_length=4)
SHIFTED = GenerationSpec(canvas_length=4, logit_shift=True)
AR = GenerationSpec(canvas_length=1, logit_shift=True, commit="in_place")
AR_REENCODED = GenerationSpec(canvas_length=1, logit_shift=True)
FULL = GenerationSpec(canvas_length=4, prefix_attention="full")
FULL_SHIFTED = GenerationSpec(canvas_length=4, prefix_attention="full", logit_shift=True)
BLOCK = GenerationSpec(canvas_length=4, prefix_attention="block")


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def uncached(model: Decoder, spec: GenerationSpec, prefix: Sequence[int], canvas: Sequence[int]) -> Tensor:
    """Logits [L, V] of one canvas behind one prefix."""
    full = spec.prefix_attention == "full"
    if spec.logit_shift and not full:
        prefix, canvas = prefix[:-1], [prefix[-1], *canvas[:-1]]
    tokens = torch.tensor([[*prefix, *canvas]])
    places = torch.arange(tokens.shape[1])
    on_canvas = places >= len(prefix)
    block = spec.canvas_length if spec.prefix_attention == "block" else 1
    mask = (places[None] // block <= places[:, None] // block) | (on_canvas[None] & on_canvas[:, None]) | full
    hidden = model(
        tokens,
        places[None],
        AttentionSpec(mask=mask[None, None]),
        canvas_RQ=None if spec.autoregressive else on_canvas[None],
    )
    first = len(prefix) - (full and spec.logit_shift)
    return model.logits(hidden)[0, first : first + len(canvas)]


def check(
    denoiser: PrefixDenoiser,
    model: Decoder,
    spec: GenerationSpec,
    prefixes: Sequence[Sequence[int]],
    canvases: Sequence[Sequence[int]],
    rows: Sequence[int],
) -> None:
    widths = torch.tensor([len(canvases[row]) for row in rows])
    longest = int(widths.max())
    tokens_RL = torch.tensor([[*canvases[row], *[7] * (longest - len(canvases[row]))] for row in rows])
    valid_RL = torch.arange(longest) < widths[:, None]
    logits = denoiser(tokens_RL, None, torch.tensor(rows), valid_RL)
    for i, row in enumerate(rows):
        expected = uncached(model, spec, prefixes[row], canvases[row])
        torch.testing.assert_close(logits[i, : len(canvases[row])], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "spec", [PLAIN, SHIFTED, AR, FULL, FULL_SHIFTED], ids=["plain", "shifted", "ar", "full", "full-shifted"]
)
@pytest.mark.parametrize("lengths", [[5, 5], [1, 6], [3, 2]], ids=str)
def test_prompts_are_shared_and_rows_leave(
    make_decoder: Callable[..., Decoder], draw: Draw, spec: GenerationSpec, lengths: list[int]
):
    model = make_decoder(canvas_embedding=True)
    prompts = [draw(length, seed=i) for i, length in enumerate(lengths)]
    prompt_of_row = [0, 1, 0, 1]
    prefixes = [prompts[prompt] for prompt in prompt_of_row]
    widths = [1] * 4 if spec.autoregressive else [4, 2, 3, 4]
    canvases = [draw(width, seed=10 + i) for i, width in enumerate(widths)]
    denoiser = make_denoiser(model, spec, prompts, prompt_of_row, 12)
    for rows in ([0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3], [3], [0, 1, 2, 3], [2, 0]):
        check(denoiser, model, spec, prefixes, canvases, rows)


@pytest.mark.parametrize(
    "spec",
    [PLAIN, SHIFTED, AR, AR_REENCODED, FULL, FULL_SHIFTED, BLOCK],
    ids=["plain", "shifted", "ar", "ar-reencoded", "full", "full-shifted", "block"],
)
@pytest.mark.parametrize("going", [[0, 1, 2], [0, 2], [1], [2, 0]], ids=str)
def test_committed_canvases_become_prefix_of_the_rows_that_go_on(
    make_decoder: Callable[..., Decoder], draw: Draw, spec: GenerationSpec, going: list[int]
):
    """Three times over, with canvases of different lengths, and steps of fewer rows before the commit."""
    model = make_decoder(canvas_embedding=True)
    block = spec.prefix_attention == "block"
    prefixes = [draw(length, seed=i) for i, length in enumerate((4, 12, 8) if block else (4, 1, 6))]
    denoiser = make_denoiser(model, spec, prefixes, [0, 1, 2], 40)
    rows = [0, 1, 2]
    for turn in range(3):
        widths = [1 if spec.autoregressive else 4 if block else width for width in [4, 2, 3][: len(rows)]]
        canvases = [draw(width, seed=100 * turn + i) for i, width in enumerate(widths)]
        check(denoiser, model, spec, prefixes, canvases, rows)
        if not spec.autoregressive and len(rows) > 1:
            check(denoiser, model, spec, prefixes, canvases, rows[1:])
        rows = going if turn == 0 else list(range(len(rows)))
        takes_forward = spec.commit == "reencode" and spec.prefix_attention != "full"
        assert denoiser.commit(rows, [canvases[row] for row in rows]) == takes_forward
        prefixes = [[*prefixes[row], *canvases[row]] for row in rows]
        rows = list(range(len(rows)))
    canvases = [draw(1 if spec.autoregressive else 4, seed=50 + i) for i in rows]
    check(denoiser, model, spec, prefixes, canvases, rows)


def test_what_is_kept_in_place_does_not_depend_on_who_else_is_there(make_decoder: Callable[..., Decoder], draw: Draw):
    """The last keys and values of a row are those of its own last step, though others step on or left before."""
    spec = GenerationSpec(canvas_length=4, commit="in_place")
    model = make_decoder(canvas_embedding=True)
    prompts = [draw(3, seed=0), draw(5, seed=1)]
    read = [[draw(4, seed=10 * step + row) for row in range(2)] for step in range(3)]
    valid = torch.ones(1, 4, dtype=torch.bool)
    after = draw(4, seed=99)

    def alone(row: int, num_steps: int) -> Tensor:
        denoiser = CachedDenoiser(model, spec, [prompts[row]], [0], 16)
        for step in range(num_steps):
            denoiser(torch.tensor([read[step][row]]), None, torch.tensor([0]), valid)
        assert not denoiser.commit([0], [read[2][row]])
        return denoiser(torch.tensor([after]), None, torch.tensor([0]), valid)[0]

    denoiser = CachedDenoiser(model, spec, prompts, [0, 1], 16)
    both = valid.expand(2, -1)
    denoiser(torch.tensor(read[0]), None, torch.tensor([0, 1]), both)
    for step in (1, 2):
        denoiser(torch.tensor([read[step][1]]), None, torch.tensor([1]), valid)
    assert not denoiser.commit([0, 1], read[2])
    logits = denoiser(torch.tensor([after, after]), None, torch.tensor([0, 1]), both)
    torch.testing.assert_close(logits[0], alone(0, 1), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(logits[1], alone(1, 3), atol=1e-5, rtol=1e-4)


def test_the_soft_embedding_is_the_models(make_decoder: Callable[..., Decoder]):
    model = make_decoder(self_conditioning=True)
    denoiser = CachedDenoiser(model, PLAIN, [[1, 2]], [0], 8)
    probs = torch.rand(1, 4, 23).softmax(-1)
    torch.testing.assert_close(denoiser.soft_embedding(probs), probs @ model.embedding_VD)
    soft = torch.randn(1, 4, 16)
    tokens, rows, valid = torch.ones(1, 4, dtype=torch.int64), torch.tensor([0]), torch.ones(1, 4, dtype=torch.bool)
    assert not torch.equal(denoiser(tokens, soft, rows, valid), denoiser(tokens, None, rows, valid))
    assert torch.equal(denoiser(tokens, torch.zeros_like(soft), rows, valid), denoiser(tokens, None, rows, valid))


def test_a_prompt_is_prefilled_in_whole_blocks(make_decoder: Callable[..., Decoder], draw: Draw):
    """What is left of it stands on the first canvas, in one block with what is written behind it."""
    model = make_decoder(canvas_embedding=True)
    prompt, canvas = draw(10, seed=0), draw(2, seed=1)
    denoiser = make_denoiser(model, BLOCK, [prompt], [0], 12)
    assert denoiser.num_prefilled(prompt) == 8
    check(denoiser, model, BLOCK, [prompt[:8]], [[*prompt[8:], *canvas]], [0])


def test_what_a_step_computes(make_decoder: Callable[..., Decoder]):
    model = make_decoder()
    cached, full = (make_denoiser(model, spec, [[1, 2, 3]], [0], 12) for spec in (PLAIN, FULL))
    assert (cached.num_prefilled([1, 2, 3]), cached.num_computed(0, 4)) == (3, 4)
    assert (full.num_prefilled([1, 2, 3]), full.num_computed(0, 4)) == (0, 7)
