"""Merging: a machine's compiled layers in front of a Qwen3.5 model, whose own layers do not change."""
