"""The command ``ppdm``: one small module per command, each a thin call into the library."""

from ppdm_sql.cli.app import app, main

__all__ = ["app", "main"]
