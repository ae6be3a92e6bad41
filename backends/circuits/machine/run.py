"""Run a machine's circuit on tokens: the reference evaluation of a netlist, a schedule or a layout, seen as a machine."""

from __future__ import annotations

from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.ir.netlist.evaluate import Evaluator


def token_fields(vocabulary: Vocabulary, token: Token) -> dict[str, int]:
    """The values of the token's fields that are not 0: what its embedding sets."""
    fields = {f"kind.{token.kind}": 1}
    for i in range(vocabulary.payload_bits):
        if token.payload >> i & 1:
            fields[f"payload[{i}]"] = 1
    return fields


class CircuitMachine:
    """Has the interface of `ir.machine.interpreter.Machine`, but evaluates a circuit."""

    def __init__(self, config: MachineConfig, evaluator: Evaluator) -> None:
        self.vocabulary = Vocabulary(config)
        self.evaluator = evaluator

    def feed(self, token: Token) -> Token:
        """Consume one token; return the token that comes next."""
        out = self.evaluator.step(token_fields(self.vocabulary, token))
        kind = sum(int(out[f"next.kind[{i}]"]) << i for i in range(self.vocabulary.kind_bits))
        payload = sum(int(out[f"next.payload[{i}]"]) << i for i in range(self.vocabulary.payload_bits))
        return Token(self.vocabulary.kinds[kind], payload)
