"""Text diffusion: models that refine a whole canvas of tokens at once."""
