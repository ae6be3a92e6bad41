"""What stages are lowered to: PTX to SSA, SSA to machine blocks, machines to circuits, circuits to weights."""
