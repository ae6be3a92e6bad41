"""Passes: each changes the data of a stage or makes the next stage's; one pass a file, named like the pass."""
