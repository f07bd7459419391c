"""What models learn from and are scored on: the tokenizer, and procedural tasks with a checker each."""
