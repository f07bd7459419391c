"""Loops, written for a compiler; their callers stand beside this package."""
