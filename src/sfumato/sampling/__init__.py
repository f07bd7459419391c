"""Sampling: which tokens to accept, which to renoise, and when a canvas is finished. The denoiser is injected."""
