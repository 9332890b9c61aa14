"""The command ``ppdm``: each a thin call into the library; `app` says where each stands."""

from ppdm_sql.cli.app import command_line, main

__all__ = ["command_line", "main"]
