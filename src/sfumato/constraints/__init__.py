"""Which texts an answer may be: schemas, regular expressions, choices and the like as automata over bytes."""
