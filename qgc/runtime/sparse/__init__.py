"""Running a checkpoint at the speed of its sparsity: its weights as lists, and a step that touches only what a token moves.

Nothing here knows the machine. A `qwen3_5_text` checkpoint goes in; the same token and the same recurrent state as in
stock transformers come out.
"""
