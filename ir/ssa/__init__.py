"""The typed SSA form between PTX and machine blocks: stages `ir`, `ir-opt`, `ir-pred` and `ir-div`."""
