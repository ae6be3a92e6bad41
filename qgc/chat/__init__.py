"""Talking to a merged model: expressions, kernels that compute them, chat, a server, and an evaluation."""
