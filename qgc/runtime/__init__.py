"""Launching compiled kernels: arguments, memory images, the checkpoint cache, and the engines that run tokens."""
