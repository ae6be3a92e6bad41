"""The machine: its parameters, operations, programs (stage `blocks`), vocabulary (stage `tokens`) and interpreter."""
