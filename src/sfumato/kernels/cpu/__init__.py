"""Compiled loops of a CPU, each compiled at its first call."""
