"""SSA (stage `ir-div`) to machine blocks: select, coalesce, form, allocate, emit; `lower` runs them."""
