"""The small language model of the repository's own: its data, its tokenizer, its training and its widening."""
