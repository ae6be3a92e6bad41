"""PTX: syntax tree, parser, printer, verifier and the SIMT reference interpreter."""
