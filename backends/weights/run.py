"""Run a machine's weights on tokens: the reference evaluation of the compiled model, seen as a machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from qgc.backends.weights.embedding import embedding
from qgc.ir.layout.weights import Weights
from qgc.ir.layout.weights_evaluate import Evaluator
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Token, Vocabulary


class WeightsMachine:
    """Has the interface of `ir.machine.interpreter.Machine`, but runs the layers and takes the best logit."""

    def __init__(self, config: MachineConfig, weights: Weights, dtype: DTypeLike = np.float64) -> None:
        self.vocabulary = Vocabulary(config)
        self.evaluator = Evaluator(weights, dtype)
        self._table = embedding(self.vocabulary, weights).astype(dtype)

    def feed(self, token: Token) -> Token:
        """Consume one token; return the token that comes next."""
        hidden = self.evaluator.forward(self._table[self.vocabulary.id(token)])
        return self.vocabulary.token(int(np.argmax(self._table[: self.vocabulary.size] @ hidden)))
