"""Training data written by a model for its own adaptation."""
