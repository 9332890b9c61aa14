"""The command ``ppdm``: one small module per command, each a thin call into the library."""

from ppdm_sql.cli.app import command_line, main

__all__ = ["command_line", "main"]
