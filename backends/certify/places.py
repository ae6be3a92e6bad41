"""Names for the parts of a compiled layer: which wire a coordinate holds, which unit or head a row belongs to."""

from __future__ import annotations

from qgc.backends.weights.swiglu import targets
from qgc.ir.layout.layout import Layout, clear_terms
from qgc.ir.layout.schedule import lives


class Places:
    """Looks names up in a layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._wires = layout.netlist.wires
        self._targets = targets(layout.netlist)
        self._owners: dict[int, list[tuple[int, int]]] = {}
        for wire, (born, _) in enumerate(lives(layout.schedule)):
            self._owners.setdefault(layout.coordinate[wire], []).append((born, wire))
        self._fixed = dict.fromkeys(layout.constants, "the constant")
        self._fixed |= {c: f"output {name}" for name, c in layout.code.items()}
        self._heads = {
            (layer, slot): head.name
            for head, layer, slot in zip(
                layout.netlist.heads, layout.schedule.head_layer, layout.head_slot, strict=True
            )
        }

    def coordinate(self, layer: int, coordinate: int) -> str:
        """The wire that a coordinate holds at the end of a layer."""
        if name := self._fixed.get(coordinate):
            return name
        born = [pair for pair in self._owners.get(coordinate, []) if pair[0] <= 2 * layer + 1]
        return f"wire {self._wires[max(born)[1]].name}" if born else f"coordinate {coordinate}, which is free"

    def unit(self, layer: int, number: int) -> str:
        """A neuron of a layer, by the wires that it adds to."""
        units = [u for u, at in enumerate(self.layout.schedule.unit_layer) if at == layer]
        if number < len(units):
            names = [self._wires[w].name for w, _ in self._targets[units[number]]]
            return f"unit {number} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
        left = number - len(units)
        for clear in self.layout.clears:
            if clear.layer == layer:
                left -= len(clear_terms(self.layout.netlist, clear.wire))
                if left < 0:
                    return f"unit {number} (clear of {self._wires[clear.wire].name})"
        is_output = left == 0 and layer == self.layout.schedule.layers - 1
        return f"unit {number} ({'the output stage' if is_output else 'which is free'})"

    def head(self, layer: int, slot: int) -> str:
        """The head in a slot of a layer."""
        name = self._heads.get((layer, slot))
        return f"head {name}" if name else f"head slot {slot}, which is free"

    def entry(self, layer: int, tensor: str, row: int, column: int) -> str:
        """What an entry of a compiled tensor belongs to."""
        shape = self.layout.shape
        dim, group = shape.head_dim, shape.value_heads // shape.heads
        keys = shape.heads * dim
        match tensor.split(".")[1]:
            case "gate_proj" | "up_proj":
                return f"{self.unit(layer, row)}, {self.coordinate(layer, column)}"
            case "down_proj":
                return f"{self.unit(layer, column)}, {self.coordinate(layer, row)}"
            case "out_proj":
                return f"{self.head(layer, column // dim)}, {self.coordinate(layer, row)}"
            case "in_proj_qkv":
                slot = (row - 2 * keys) // dim if row >= 2 * keys else row % keys // dim * group
                return f"{self.head(layer, slot)}, {self.coordinate(layer, column)}"
            case "conv1d":
                slot = (row - 2 * keys) // dim if row >= 2 * keys else row % keys // dim * group
                return self.head(layer, slot)
            case "in_proj_z":
                return f"{self.head(layer, row // dim)}, {self.coordinate(layer, column)}"
            case "in_proj_b" | "in_proj_a":
                return f"{self.head(layer, row)}, {self.coordinate(layer, column)}"
            case "dt_bias" | "A_log":
                return self.head(layer, row)
            case _:
                return f"all heads of layer {layer}" if tensor.endswith("norm.weight") else tensor
