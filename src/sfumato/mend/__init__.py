"""Repairs of Python in place: what a model doubts, tried in the order of its belief, kept if it can be verified."""
