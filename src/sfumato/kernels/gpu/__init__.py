"""Kernels of a GPU, in Triton."""
