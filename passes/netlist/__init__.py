"""Passes on netlists, one a file."""
