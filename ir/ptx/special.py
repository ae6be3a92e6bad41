"""The special registers of PTX: the names that the parser must tell from ordinary registers (PTX ISA 10)."""

from __future__ import annotations

_VECTORS = (
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
)
_WORDS = (
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%clock",
    "%clock_hi",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    *(f"%envreg{i}" for i in range(32)),
    *(f"%pm{i}" for i in range(8)),
)
_LONGS = ("%clock64", "%globaltimer", "%current_graph_exec", *(f"%pm{i}_64" for i in range(8)))

SPECIAL_TYPES: dict[str, str] = {
    **{f"{name}.{axis}": "u32" for name in _VECTORS for axis in "xyzw"},
    **dict.fromkeys(_VECTORS, "v4.u32"),
    **dict.fromkeys(_WORDS, "u32"),
    **dict.fromkeys(_LONGS, "u64"),
    "%is_explicit_cluster": "pred",
}
"""Full name -> type. The bare name of a vector (`%tid`) is legal in `mov.v4.u32` and, for its x, in old code."""
