"""Loops, written for a compiler. `kernels.cpu.backend` and `kernels.cpu.products` call them."""
