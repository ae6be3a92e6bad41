"""The `isa` engine: the machine's reference interpreter, token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qgc.runtime.engines.base import Request, Result, numbered
from qgc.runtime.isa import BUDGET, run_isa
from qgc.runtime.launch import link

if TYPE_CHECKING:
    from qgc.driver import Kernel


class IsaEngine:
    """Runs a program's tokens on `qgc.ir.machine.interpreter`."""

    name = "isa"

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Link and run.

        Raises:
            QgcError: what `launch.link` and `isa.run_isa` raise.
        """
        launch = link(kernel.program, request.grid, request.block, request.args, shared=request.shared)
        run = run_isa(launch, request.budget or BUDGET)
        return Result(numbered(launch, run), launch, run)
