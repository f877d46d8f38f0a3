"""The transformer: layers, attention, KV cache, weights on disk and the tokenizer."""
