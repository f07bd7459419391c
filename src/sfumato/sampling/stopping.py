"""The learned stop: a small network that predicts whether a draft would still change."""

# R rows, L canvas, F features

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import CheckpointError
from sfumato.sampling.logits import Statistics
from sfumato.storage import write_atomically

StopHead = Callable[[Statistics, Tensor, Tensor], Tensor]
"""A stop rule: (statistics, free_RL, stable_R) -> prob_R, the probability that more steps would not change the draft,
given how long it has been stable. Positions outside free_RL must not count. Source: Learn2PD, a small MLP on the
confidences."""
STOP_HEAD = "stop_head.safetensors"
"""File name within a checkpoint directory."""
_WORST, _LEAST, _LONGEST_STABLE = 6, 1e-6, 3
_BELOW = (0.3, 0.6, 0.9, 0.99)
NUM_FEATURES = _WORST + 1 + len(_BELOW) + 2
_WIDTH = 24


def stop_features(confidence_RL: Tensor, free_RL: Tensor, stable_R: Tensor) -> Tensor:
    """The network's input features.

    Args:
        confidence_RL: float32; probability of the token drawn at each position.
        free_RL: bool; the positions that count.
        stable_R: int64; steps in a row that left the draft unchanged.

    Returns:
        features_RF: float32; surprise at the least likely tokens, its mean, shares of positions below several
        confidences, stable steps, and the number of positions.
    """
    count_R = free_RL.sum(-1).clamp_min(1)
    surprise_RL = -confidence_RL.float().clamp_min(_LEAST).log() * free_RL
    padded_RL = functional.pad(surprise_RL, (0, max(0, _WORST - surprise_RL.shape[1])))
    shares = [((confidence_RL < bound) & free_RL).sum(-1) / count_R for bound in _BELOW]
    columns = [surprise_RL.sum(-1) / count_R, *shares, stable_R.clamp_max(_LONGEST_STABLE).float(), count_R.log()]
    return torch.cat((padded_RL.topk(_WORST, dim=-1).values, torch.stack(columns, dim=-1)), dim=-1)


class LearnedStop(nn.Module):
    """Probability that more steps would leave the draft unchanged: a `sampling.StopHead`.

    Source: Learn2PD, a multilayer perceptron of some 2,000 parameters on the confidences.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(NUM_FEATURES, _WIDTH)
        self.between = nn.Linear(_WIDTH, _WIDTH)
        self.outside = nn.Linear(_WIDTH, 1)

    def logits(self, features_RF: Tensor) -> Tensor:
        """Logits from features."""
        hidden = functional.gelu(self.inside(features_RF))
        logits_R: Tensor = self.outside(functional.gelu(self.between(hidden)))[..., 0]
        return logits_R

    def forward(self, statistics: Statistics, free_RL: Tensor, stable_R: Tensor) -> Tensor:
        """prob_R of a step."""
        features_RF = stop_features(statistics.confidence_RL.nan_to_num(), free_RL, stable_R)
        return self.logits(features_RF).sigmoid()

    def write(self, directory: Path) -> None:
        """Save it in a checkpoint directory, atomically."""
        stored = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        write_atomically(directory / STOP_HEAD, save(stored))

    @classmethod
    def read(cls, directory: Path) -> LearnedStop | None:
        """Load it from a checkpoint directory, if there is one.

        Raises:
            CheckpointError: if the file is damaged, or another kind of file.
        """
        path = directory / STOP_HEAD
        if not path.is_file():
            return None
        head = cls()
        try:
            with safe_open(path, framework="pt") as file:
                head.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        except (SafetensorError, OSError, RuntimeError) as error:
            raise CheckpointError(f"{path} is not a stop head: {error}") from None
        return head.eval().requires_grad_(False)
