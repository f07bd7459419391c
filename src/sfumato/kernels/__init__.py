"""Backends: model operations in torch, compiled CPU loops and GPU kernels."""
