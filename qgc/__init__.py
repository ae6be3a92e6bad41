"""qgc: a SIMT GPU in the weights of a language model, and a CUDA compiler for it."""

__version__ = "0.1.0"
