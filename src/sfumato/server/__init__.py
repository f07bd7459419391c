"""Models behind HTTP."""
