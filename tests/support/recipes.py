"""A recipe of a very small model that trains in seconds."""

RECIPE = """
generation = { steps = 4, max_tokens = 8 }

[model]
vocab_size = 261
hidden_size = 16
intermediate_size = 32
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 8
max_position_embeddings = 160
canvas_embedding = true

[data]
tasks = { arithmetic = 1.0 }
tokenizer_items = 5

[train]
steps = 4
warmup = 1

[generation_spec]
canvas_length = 32

[packing]
rows = 1
row_length = 512
canvas_lengths = [32]
"""
