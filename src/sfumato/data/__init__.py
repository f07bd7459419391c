"""Training data: tasks with checkers, sources, packing, corpora and filters."""
