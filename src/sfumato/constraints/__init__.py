"""Output constraints: schemas, regular expressions, choices and others, as automata over bytes."""
