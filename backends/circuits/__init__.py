"""The circuit library, and the ISA interpreter built from it as one netlist."""
