"""Netlists: wires, SwiGLU units and memory heads as exact numbers, with a builder and an evaluator."""
