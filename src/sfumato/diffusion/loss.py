"""Upper bounds on the negative log-likelihood for every process.

The bounds are integrands. With t uniform on (0, 1] and x_t from ``process.corrupt``, the expectation of the
sum over positions bounds -log p(x_0) from above, in nats. Of the full bound two terms are absent because they
are zero here: the prior term, since at t = 1 no trace of x_0 is left, and the reconstruction term, since at t
= 0 nothing is noised. Drawing t from [t_min, 1] leaves out the integral over (0, t_min): multiply the mean by
1 - t_min, and take t_min so small that what is left out does not reach the digits reported, or the number is
no bound.

The logits are plugged in for x_0 in q(x_s | x_t, x_0), so they stand for what is believed of a token
without its own noisy observation. Minimising a bound trains such a leave-one-out prediction; minimising
cross-entropy trains a denoiser, which does look. Under uniform noise the two differ, and
``loo_from_denoiser`` converts (LOO, arXiv 2605.22765): without the conversion, the bound of a model trained
by cross-entropy is valid but loose.
"""

# R rows, L canvas, K vocabulary. Tokens have shape RL, logits RLK; other leading shapes work as well.
# Noise levels have the leading dimensions of the tokens: R, RL or none. Arguments keep the papers' names.

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.diffusion.process import Mixture, Process, align


def nelbo(process: Process, logits: Tensor, x0: Tensor, xt: Tensor, t: Tensor) -> Tensor:
    """Integrand of the continuous-time bound on -log p(x_0), by whichever form suits the process.

    Args:
        logits: floats, K in the last dimension; the mask's logit is taken as -inf.
        x0: int64 clean tokens, never the mask.
        xt: int64 tokens at t.
        t: noise levels in (0, 1].

    Returns:
        Nats per token, >= 0, of the shape of x0, float32 or wider. Averaged over t and x_t and summed over
        positions it bounds -log p(x_0).

    Source: GIDD, arXiv 2503.04482, section 3.
    """
    return (_nelbo_hybrid if process.has_uniform else _nelbo_mask)(process, logits, x0, xt, t)


def nelbo_of_denoiser(process: Process, logits: Tensor, x0: Tensor, xt: Tensor, t: Tensor) -> Tensor:
    """``nelbo`` of a model that looks at a token's own observation, as samplers take it to do: under uniform noise, of
    what it would say without.

    Arguments and result are those of ``nelbo``.
    """
    if process.mask_id is None:
        logits = loo_from_denoiser(logits, xt, process.alpha(t))
    return nelbo(process, logits, x0, xt, t)


def _nelbo_mask(process: Process, logits: Tensor, x0: Tensor, xt: Tensor, t: Tensor) -> Tensor:
    """Weighted cross-entropy of the masked tokens: the limit of ``_nelbo_hybrid`` as uniform noise vanishes.

    Visible tokens are certain and cost nothing. The sum over the vocabulary drops out, which leaves
    -alpha' / (1 - alpha) = 1/t times the cross-entropy.

    Source: MDLM, arXiv 2406.07524, the continuous-time bound; also LLaDA, arXiv 2502.09992, eq. 3.
    """
    assert process.mask_id is not None
    t = _widen(align(t, x0))
    weight = process.flow(t).mask / _resolved(process.mixture(t).mask)
    log_p_x0 = _log_probs(process, logits).gather(-1, x0.unsqueeze(-1)).squeeze(-1)
    # Filled before the product: 0 · inf, where a visible token has no probability, would spoil the gradient.
    return weight * -log_p_x0.masked_fill(xt != process.mask_id, 0.0)


def _nelbo_hybrid(process: Process, logits: Tensor, x0: Tensor, xt: Tensor, t: Tensor) -> Tensor:
    """The bound for any process with uniform noise, mask noise beside it or not.

    With z = x_t, q = q(x_t | x_0), q̂ = q(x_t | x̂) for the prediction x̂, and r = q(z) / q̂(z):

        w [KL(q ‖ q̂) + r - log r - 1],     w = flow_z / (alpha q(z)).

    It is the bound for continuous-time chains, the sum over k ≠ z of R̂(k) - R(k) + R(k) log(R(k) / R̂(k))
    with R and R̂ the backward rates z→k under x_0 and x̂, for tokens that jump to z at a rate that does not
    depend on where they come from. For uniform noise it equals UDLM's formula.

    Everything is expressed by rho = alpha / (uniform noise per token) and log1p(rho · x̂_k) = log q̂_k +
    const, which keeps relative precision where x̂ is tiny, and where rho is huge (t near 0) or tiny (t near
    1).

    Source: GIDD, arXiv 2503.04482, section 3; UDLM, arXiv 2412.10193; for chains in general, Campbell et al.
    2022, arXiv 2205.14987.
    """
    t = _widen(align(t, x0))
    mixture = Mixture(*map(_resolved, process.mixture(t)))
    alpha = mixture.keep
    noise = mixture.uniform / process.num_ordinary
    rho = alpha / noise

    # The mask has x̂ = 0, hence log1p = 0: being as likely under q as under q̂, it falls out of KL and r.
    log1p_RLK = torch.log1p(rho.unsqueeze(-1) * _log_probs(process, logits).exp())
    at_x0 = log1p_RLK.gather(-1, x0.unsqueeze(-1)).squeeze(-1)
    at_xt = log1p_RLK.gather(-1, xt.unsqueeze(-1)).squeeze(-1)
    log1p_rho = torch.log1p(rho)
    kl = (alpha + noise) * (log1p_rho - at_x0) - noise * (log1p_RLK.sum(-1) - at_x0)

    log_r = torch.where(xt == x0, log1p_rho, 0.0) - at_xt
    q_z = process.noise_mass(mixture, xt) + torch.where(xt == x0, alpha, 0.0)
    weight = process.noise_mass(process.flow(t), xt) / (alpha * q_z)
    return weight * (kl + torch.expm1(log_r) - log_r)


def loo_from_denoiser(logits: Tensor, xt: Tensor, alpha: Tensor) -> Tensor:
    """Take a token's own observation out of a denoiser's prediction, under uniform noise.

    By Bayes' rule p(x_0 | x_t) is proportional to p(x_0 | x_t elsewhere) times q(x_t here | x_0), and the
    latter is 1 + K alpha / (1 - alpha) times larger for x_0 = x_t than for any other token.

    Args:
        logits: floats of a denoiser p(x_0 | x_t), K in the last dimension.
        xt: int64 observed tokens, one dimension less.
        alpha: share of tokens kept, in [0, 1]; its dimensions are the leading ones of xt.

    Returns:
        Logits of the leave-one-out posterior, up to a constant per token, of the shape of logits.

    Source: LOO, arXiv 2605.22765.
    """
    alpha = _widen(align(alpha, xt))
    # The log-likelihood ratio of the observed token against any other.
    evidence = torch.log1p(logits.shape[-1] * alpha / _resolved(1.0 - alpha)).to(logits.dtype).expand(xt.shape)
    return logits.scatter_add(-1, xt.unsqueeze(-1), -evidence.unsqueeze(-1))


def _log_probs(process: Process, logits: Tensor) -> Tensor:
    logits = _widen(logits)
    if process.mask_id is not None:
        mask = torch.arange(logits.shape[-1], device=logits.device) == process.mask_id
        logits = logits.masked_fill(mask, float("-inf"))
    return logits.log_softmax(-1)


def _resolved(share: Tensor) -> Tensor:
    # Shares below what 1 - alpha resolves count as that, which keeps their ratios finite at both ends of t.
    return share.clamp_min(torch.finfo(share.dtype).eps)


def _widen(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
