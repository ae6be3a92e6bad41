"""The `ptx` engine: the PTX interpreter on the kernel as the CUDA compiler wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qgc.ir.launch import Launch, Memory
from qgc.ir.ptx.interpret import DEFAULT_BUDGET, run
from qgc.ir.ptx.kernels import find_kernel, ptx_params
from qgc.runtime.engines.base import Request, Result
from qgc.runtime.engines.host import check_arguments, pack, place, read_back

if TYPE_CHECKING:
    from qgc.driver import Kernel


class PtxEngine:
    """Runs stage `ast` on `qgc.ir.ptx.interpret`."""

    name = "ptx"

    def run(self, kernel: Kernel, request: Request) -> Result:
        """Lay out memory and run.

        Raises:
            QgcError: what `interpret.run` raises, and `launch-arguments`.
        """
        entry = find_kernel(kernel.module, kernel.settings.kernel)
        layout = ptx_params(entry)
        names = [p.name for p in layout]
        check_arguments(entry.name, names, request.args)
        memory = Memory()
        values = place(memory, names, request.args)
        params = pack([(p.offset, p.size) for p in layout], values)
        geometry = Launch(request.grid, request.block)
        budget = request.budget or DEFAULT_BUDGET
        steps = run(
            kernel.module,
            geometry,
            params,
            memory,
            kernel=entry.name,
            dynamic_shared=request.shared,
            budget=budget,
        )
        return Result(read_back(memory, names, request.args), facts=(f"{steps} instructions",))
