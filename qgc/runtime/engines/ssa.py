"""The `ssa` engine: the SSA interpreter on the form that the machine's blocks are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qgc.ir.launch import Launch, Memory
from qgc.ir.ssa.interpret import DEFAULT_BUDGET, run
from qgc.runtime.engines.base import Request, Result
from qgc.runtime.engines.host import check_arguments, pack, place, read_back

if TYPE_CHECKING:
    from qgc.driver import Kernel


class SsaEngine:
    """Runs stage `ir-div` on `qgc.ir.ssa.interpret`."""

    name = "ssa"

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Lay out memory and run.

        Raises:
            QgcError: what `interpret.run` raises, and `launch-arguments`.
        """
        function = kernel.function
        names = [p.name for p in function.params]
        check_arguments(function.name, names, request.args)
        memory = Memory()
        values = place(memory, names, request.args)
        sizes = [(p.offset, p.size) for p in function.params]
        geometry = Launch(request.grid, request.block)
        budget = request.budget or DEFAULT_BUDGET
        params = pack(sizes, values)
        steps = run(function, geometry, params, memory, dynamic_shared=request.shared, budget=budget)
        return Result(read_back(memory, names, request.args), facts=(f"{steps} operations",))
