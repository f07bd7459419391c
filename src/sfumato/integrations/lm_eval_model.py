"""Models for lm-eval, which runs its tasks on them in its process.

lm-eval discovers models only in its own package; run as a program, this module is lm-eval with one more:

    python -m sfumato.integrations.lm_eval_model run --model sfumato --model_args pretrained=tiny --tasks NAME
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from tqdm import tqdm

from sfumato.api import load
from sfumato.config import check_number
from sfumato.engine.request import Request
from sfumato.errors import RequestError
from sfumato.evaluation.likelihood import continuation_nats

# lm-eval's generation settings: those that are also our options, and the others.
_OPTIONS = ("temperature", "top_p", "top_k")
_SETTINGS = (*_OPTIONS, "do_sample", "until")
_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


@register_model("sfumato")
class SfumatoLM(TemplateLM):  # type: ignore[misc]
    """A Sfumato model with lm-eval's interface.

    Log-likelihoods of continuations are exact for autoregressive models. For canvas models they are lower bounds from
    `samples` noise draws: the negative of a bound (MDLM's NELBO under mask noise, GIDD's under hybrid noise, UDLM's of
    the leave-one-out prediction under uniform noise), in nats. The continuation is one canvas of its own length, or
    several of the trained length, each after the text before it. A canvas has at least two positions, so a continuation
    of one token is read with the end token; in block models, so is one shorter than a block. `estimator` names the
    method, and results report it.

    `is_greedy` is whether the model's own sampler writes exactly the continuation at temperature 0.

    Args:
        pretrained: argument of `sfumato.load`; so are `dtype`, `quantize` and `threads`.
        device: "cpu"; anything else means an accelerator if there is one, because lm-eval's default is "cuda:0".
        samples: noise draws per bound; four times as many halve its error.
        greedy: compute `is_greedy`; otherwise it is always False.
        max_gen_toks: maximum tokens of an answer if the task does not set it.
        batch_size, max_batch_size: ignored, because the engine batches; lm-eval always passes them.

    Raises:
        SfumatoError: like `sfumato.load`.
    """

    def __init__(
        self,
        pretrained: str = "tiny",
        *,
        dtype: str = "float32",
        quantize: str | None = None,
        device: str = "auto",
        threads: Any = None,
        samples: int = 32,
        seed: int = 0,
        greedy: bool = True,
        max_gen_toks: int | None = None,
        batch_size: Any = None,
        max_batch_size: Any = None,
    ) -> None:
        super().__init__()
        check_number("samples", samples, 1, whole=True)
        torch_device = "cpu" if device == "cpu" else "auto"
        self.model = load(pretrained, dtype=dtype, quantize=quantize, device=torch_device, threads=threads)
        self.samples, self.seed, self.greedy = samples, seed, greedy
        self.max_gen_toks = max_gen_toks or self.model.max_tokens
        self.estimator: str | None = None
        """Estimator of the last likelihood."""
        self._num_positions = self.model.decoder.config.max_position_embeddings
        self._is_rendered = False

    @property
    def tokenizer_name(self) -> str:
        """Identifies request caches."""
        return self.model.name.replace("/", "__")

    @property
    def eot_token_id(self) -> int:
        """The token that ends a text."""
        return self.model.tokenizer.eos_ids[0]

    @property
    def prefix_token_id(self) -> int:
        """The token before a text without context."""
        return self.model.context(None)[-1]

    def get_model_info(self) -> dict[str, Any]:
        """What results report about the model."""
        return {
            "model_num_parameters": sum(parameter.numel() for parameter in self.model.decoder.parameters()),
            "model_dtype": str(self.model.decoder.embedding_VD.dtype),
            "sfumato_spec": self.model.spec.describe(),
            "sfumato_estimator": self.estimator,
        }

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """A conversation as one text."""
        self._is_rendered = True
        return self.model.tokenizer.render(chat_history, add_generation_prompt)

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **kwargs: Any) -> list[int]:
        """Tokenize a text, or a rendered conversation with its special tokens."""
        tokenizer = self.model.tokenizer
        if self._is_rendered:
            return tokenizer.encode_rendered(string)
        return tokenizer.encode(string) if add_special_tokens is False else tokenizer.encode_raw(string)

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Tokenize a text and split it at the end of the context; a token across the boundary belongs to the
        continuation."""
        whole, prefix_tokens = self.tok_encode(context + continuation), self.tok_encode(context)
        same = next(
            (i for i, pair in enumerate(zip(whole, prefix_tokens, strict=False)) if pair[0] != pair[1]),
            len(prefix_tokens),
        )
        return whole[:same] or [self.prefix_token_id], whole[same:]

    def _loglikelihood_tokens(
        self, requests: list[tuple[tuple[str, str], list[int], list[int]]], disable_tqdm: bool = False, **kwargs: Any
    ) -> list[tuple[float, bool]]:
        greedy = self._written([(context, continuation) for _, context, continuation in requests])
        found = []
        for (pair, context, continuation), is_greedy in zip(
            tqdm(requests, desc="likelihoods", disable=disable_tqdm), greedy, strict=True
        ):
            found.append((-self._nats(context, continuation), is_greedy))
            self.cache_hook.add_partial("loglikelihood", pair, found[-1])
        return found

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """Log-likelihoods of whole texts, in nats; see the class."""
        found = []
        for request in tqdm(requests, desc="likelihoods", disable=disable_tqdm):
            tokens = self.model.tokenizer.encode(request.args[0])
            found.append(-self._nats(list(self.model.context(None)), tokens))
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, found[-1])
        return found

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Answers, up to the first stop string; repeated samples if requested."""
        repeats: Counter[str] = Counter()
        asked = []
        for request in requests:
            context, settings = request.args
            asked.append(self._request(context, settings, self.seed + repeats[context]))
            repeats[context] += 1
        with tqdm(total=len(asked), desc="answers", disable=disable_tqdm) as bar:
            answers = self.model.results(asked, lambda done: bar.update(done - bar.n))
        texts = [results[0].text for results in answers]
        for request, text in zip(requests, texts, strict=True):
            self.cache_hook.add_partial("generate_until", request.args, text)
        return texts

    def _request(self, context: str, settings: dict[str, Any], seed: int) -> Request:
        if foreign := sorted(settings.keys() - {*_SETTINGS, *_LENGTHS}):
            raise RequestError(f"generation_kwargs has {foreign[0]}; allowed: {', '.join((*_SETTINGS, *_LENGTHS))}")
        asked = next((settings[name] for name in _LENGTHS if settings.get(name) is not None), self.max_gen_toks)
        # If a task allows more than the model holds, half the context is left to the prompt.
        max_tokens = min(asked, self._num_positions // 2)
        until = settings.get("until") or []
        options: dict[str, Any] = {name: settings[name] for name in _OPTIONS if settings.get(name) is not None}
        if not settings.get("do_sample"):
            options["temperature"] = 0.0
        return self.model.request(
            tuple(self.tok_encode(context)[max_tokens - self._num_positions :]),
            max_tokens=max_tokens,
            stop=[each for each in ([until] if isinstance(until, str) else until) if each],
            seed=seed,
            **options,
        )

    def _written(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[bool]:
        """Whether the sampler writes each continuation at temperature 0; False if it is longer than half the
        context."""
        found = [not continuation for _, continuation in pairs]
        if not self.greedy:
            return found
        longest = self._num_positions // 2
        indices = [i for i, (_, continuation) in enumerate(pairs) if continuation and len(continuation) <= longest]
        requests = [
            self.model.request(
                tuple(context[len(continuation) - self._num_positions :]),
                max_tokens=len(continuation),
                temperature=0.0,
                seed=self.seed,
            )
            for context, continuation in (pairs[i] for i in indices)
        ]
        for i, [result] in zip(indices, self.model.results(requests), strict=True):
            found[i] = list(result.tokens) == pairs[i][1]
        return found

    def _nats(self, context: list[int], continuation: list[int]) -> float:
        """-log p(continuation | context), or an upper bound on it."""
        found = continuation_nats(self.model, context, continuation, samples=self.samples, seed=self.seed)
        self.estimator = found.estimator or self.estimator
        return found.nats


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
