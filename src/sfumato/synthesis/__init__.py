"""Training data that a model writes itself, for its own adaptation."""
