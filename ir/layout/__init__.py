"""Model shapes, schedules and layouts: which layer and which coordinate everything of a netlist gets."""
