"""Passes on SSA functions, from what compilers write to what the machine's blocks are made of."""
