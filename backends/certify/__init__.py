"""Proofs about checkpoints: that their weights are the layout's, and that rounding cannot change what they compute."""
