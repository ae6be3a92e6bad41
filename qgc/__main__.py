"""`python -m qgc`."""

from qgc.cli.main import main

main()
