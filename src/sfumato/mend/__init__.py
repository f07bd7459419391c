"""Repairs Python in place: edits proposed by a model, tried best first, kept if verified."""
