"""Exact noise distributions over a vocabulary small enough to enumerate, to check draws against."""

# R rows, L canvas, K vocabulary; noise levels have the leading dimensions of the tokens

from __future__ import annotations

from torch import Tensor

from sfumato.diffusion.process import Mixture, Process, align


def marginal(process: Process, x0_probs: Tensor, t: Tensor) -> Tensor:
    """q(x_t) for x_0 distributed as x0_probs [..., K]."""
    return _blend(process, process.mixture(align(t, x0_probs[..., 0])), x0_probs)


def posterior(process: Process, xt: Tensor, x0_probs: Tensor, s: Tensor, t: Tensor) -> Tensor:
    """q(x_s | x_t, x_0) with a distribution plugged in for x_0.

    For one-hot x0_probs this is Bayes' rule. A soft x0_probs takes the place of the one-hot vector in numerator and
    denominator, q(x_t | x_s) q(x_s | x0_probs) / q(x_t | x0_probs): the plug-in of UDLM and GIDD, which the bounds of
    `diffusion.loss` belong to. It reads x0_probs as what is believed of x_0 *before* looking at x_t at this position. A
    denoiser trained by cross-entropy has looked, so under uniform noise its output is to be converted first
    (`loo_from_denoiser`); the result then equals D3PM's mixture of exact posteriors, sum_k p(x_0 = k | x_t)
    q(x_s | x_t, x_0 = k). Under mask noise plug-in and mixture are the same.

    Where x0_probs rules xt out (under mask noise, a visible token to which it gives no mass) the result is xt itself,
    MDLM's carry-over.

    Source: D3PM, arXiv 2107.03006, eq. 3; UDLM, arXiv 2412.10193; GIDD, arXiv 2503.04482, section 3; for the two
        readings of a soft x_0, LOO, arXiv 2605.22765.
    """
    s, t = align(s, xt), align(t, xt)
    step = process.transition(s, t)
    at_s_RLK = _blend(process, process.mixture(s), x0_probs)
    index_RL1 = xt.unsqueeze(-1)
    # q(x_t | x_s = k) is the noise that lands on x_t, whatever k is, plus `keep` for k = x_t.
    stayed_RL1 = step.keep.unsqueeze(-1) * at_s_RLK.gather(-1, index_RL1)
    joint_RLK = process.noise_mass(step, xt).unsqueeze(-1) * at_s_RLK
    joint_RLK = joint_RLK.scatter_add(-1, index_RL1, stayed_RL1)
    total_RL1 = joint_RLK.sum(-1, keepdim=True)
    impossible_RL1 = (total_RL1 == 0).to(total_RL1.dtype)
    return joint_RLK.scatter_add(-1, index_RL1, impossible_RL1) / (total_RL1 + impossible_RL1)


def _blend(process: Process, mixture: Mixture, probs: Tensor) -> Tensor:
    keep, mask, uniform = (weight.unsqueeze(-1) for weight in mixture)
    ordinary = uniform / process.num_ordinary
    blended = keep * probs + ordinary
    if process.mask_id is not None:
        blended[..., process.mask_id : process.mask_id + 1] += mask - ordinary
    return blended
