"""Passes over machine programs, one a file."""
