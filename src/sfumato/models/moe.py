"""Mixtures of experts: a router chooses a few of many gated MLPs per position.

Positions are sorted by expert, so that each expert multiplies adjacent rows, and no capacity limits apply. One call
multiplies all of them without asking the device how many each has.
"""

# N positions, K experts per position, X experts, D model, I inner width of an expert

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.config import check_range
from sfumato.errors import ConfigError
from sfumato.kernels.base import TORCH, Backend
from sfumato.models.layers import MLP
from sfumato.models.quantization.products import grouped_product


@dataclass(frozen=True, kw_only=True)
class MoEConfig:
    """A mixture of experts instead of the MLP in most layers."""

    num_experts: int
    """Experts X per layer."""
    num_experts_per_tok: int
    """Experts K per position."""
    moe_intermediate_size: int
    """Inner width of one expert."""
    num_shared_experts: int = 0
    """Shared MLP for every position, in multiples of an expert's width."""
    first_k_dense_replace: int = 0
    """Leading layers with a plain MLP."""
    score_function: Literal["softmax", "sigmoid"] = "softmax"
    """Router scores: softmax (Qwen3), or sigmoid with a bias used only for choosing (LLaDA2)."""
    n_group: int = 1
    """Groups the experts are divided into."""
    topk_group: int = 1
    """Groups that may be chosen from; a group is scored by its two best experts."""
    norm_topk_prob: bool = True
    """Divide the chosen scores by their sum."""
    routed_scaling_factor: float = 1.0
    """Factor on the weights of the chosen experts."""

    def __post_init__(self) -> None:
        check_range(self, "num_experts num_experts_per_tok moe_intermediate_size n_group topk_group", 1)
        check_range(self, "num_shared_experts first_k_dense_replace", 0)
        check_range(self, "routed_scaling_factor", 0, above=True)
        if self.num_experts % self.n_group:
            raise ConfigError(f"n_group is {self.n_group}; allowed: a divisor of num_experts = {self.num_experts}")
        if self.n_group > 1 and 2 * self.n_group > self.num_experts:
            # A group is scored by two.
            raise ConfigError(
                f"n_group is {self.n_group}; allowed: 1, or at most num_experts / 2 = {self.num_experts // 2}"
            )
        if self.topk_group > self.n_group:
            raise ConfigError(f"topk_group is {self.topk_group}; allowed: at most n_group = {self.n_group}")
        room = self.num_experts // self.n_group * self.topk_group
        if self.num_experts_per_tok > room:
            raise ConfigError(f"num_experts_per_tok is {self.num_experts_per_tok}; allowed: at most {room}")


class Router(nn.Module):
    """Choose each position's experts and their weights, in float32.

    Source: softmax: Qwen3-MoE; sigmoid with groups and a bias that only chooses: DeepSeek-V3, arXiv 2412.19437,
    section 2.1.2, as in Ling 2.0 and LLaDA2.
    """

    def __init__(self, size: int, config: MoEConfig) -> None:
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.num_experts, size))
        nn.init.normal_(self.weight, std=size**-0.5)
        if config.score_function == "sigmoid":
            self.expert_bias = nn.Parameter(torch.zeros(config.num_experts), requires_grad=False)

    def forward(self, x_ND: Tensor) -> tuple[Tensor, Tensor]:
        """Route positions.

        Returns:
            experts_NK: int64.
            weights_NK: float32.
        """
        config = self.config
        logits_NX = functional.linear(x_ND.float(), self.weight.float())
        if config.score_function == "softmax":
            scores_NX = logits_NX.softmax(-1)
            chosen_by_NX = scores_NX
        else:
            scores_NX = logits_NX.sigmoid()
            chosen_by_NX = scores_NX + self.expert_bias
        if config.n_group > 1:
            grouped = torch.unflatten(chosen_by_NX, -1, (config.n_group, -1))
            best = grouped.topk(2, dim=-1).values.sum(-1).topk(config.topk_group, dim=-1, sorted=False).indices
            allowed = torch.zeros_like(grouped[..., 0], dtype=torch.bool).scatter(-1, best, True)
            chosen_by_NX = grouped.masked_fill(~allowed[..., None], -torch.inf).flatten(-2)
        experts_NK = chosen_by_NX.topk(config.num_experts_per_tok, dim=-1).indices
        weights_NK = scores_NX.gather(-1, experts_NK)
        # With a single expert, LLaDA2 keeps its score and Qwen3-MoE makes it 1.
        if config.norm_topk_prob and (config.score_function == "softmax" or config.num_experts_per_tok > 1):
            weights_NK = weights_NK / (weights_NK.sum(-1, keepdim=True) + 1e-20)
        return experts_NK, weights_NK * config.routed_scaling_factor


class Experts(nn.Module):
    """The gated MLPs of all experts of a layer, each weight as one tensor over experts."""

    def __init__(self, num_experts: int, size: int, intermediate_size: int, *, activation: str = "silu") -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(num_experts, 2 * intermediate_size, size))
        self.down_proj = nn.Parameter(torch.empty(num_experts, size, intermediate_size))
        nn.init.normal_(self.gate_up_proj, std=size**-0.5)
        nn.init.normal_(self.down_proj, std=intermediate_size**-0.5)
        self.activation = activation
        self.backend: Backend = TORCH

    def forward(self, x_ND: Tensor, experts_NK: Tensor, weights_NK: Tensor) -> Tensor:
        """Weighted sum of each position's experts.

        Args:
            experts_NK: int64, from a router.
            weights_NK: float32.
        """
        expert_M, order = experts_NK.flatten().sort(stable=True)
        every_X = torch.arange(len(self.gate_up_proj), device=order.device)
        end_X = torch.searchsorted(expert_M, every_X, right=True, out_int32=True)
        row_M = order // experts_NK.shape[1]
        gate, up = grouped_product(x_ND, self.gate_up_proj, end_X, row_M, self.backend).chunk(2, dim=-1)
        inner_MI = self.backend.gate(gate, up, self.activation)
        outputs_MD = grouped_product(inner_MI, self.down_proj, end_X, backend=self.backend)
        # In the order of a position's own experts, so that its sum does not depend on the batch.
        place_M = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order), device=order.device))
        weights_NK = weights_NK.to(outputs_MD.dtype)
        places_NK = place_M.view_as(experts_NK)
        return functional.embedding_bag(places_NK, outputs_MD, mode="sum", per_sample_weights=weights_NK)


class MixtureOfExperts(nn.Module):
    """Router, experts, and the shared MLP if there is one."""

    def __init__(self, size: int, config: MoEConfig) -> None:
        super().__init__()
        self.gate = Router(size, config)
        self.experts = Experts(config.num_experts, size, config.moe_intermediate_size)
        self.shared_experts: MLP | None = None
        if config.num_shared_experts:
            self.shared_experts = MLP(size, config.moe_intermediate_size * config.num_shared_experts)

    def forward(self, x: Tensor) -> Tensor:
        x_ND = x.flatten(0, -2)
        out: Tensor = self.experts(x_ND, *self.gate(x_ND)).view_as(x)
        return out if self.shared_experts is None else out + self.shared_experts(x)
