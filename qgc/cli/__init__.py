"""The command line: one module a command, listed in `main.COMMANDS`; nothing heavy is imported before it is needed."""
