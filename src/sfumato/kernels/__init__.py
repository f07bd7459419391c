"""The operations of models, in torch, in compiled loops of a CPU, and in kernels of a GPU."""
