"""The reference evaluator of schedules: the netlist's, layer by layer, where a node sees what earlier half steps wrote."""

from __future__ import annotations

from qgc.ir.layout.schedule import Schedule
from qgc.ir.netlist.evaluate import Evaluator


def evaluator(schedule: Schedule) -> Evaluator:
    """An evaluator that runs every node in its layer."""
    return Evaluator(schedule.netlist, schedule.times)
