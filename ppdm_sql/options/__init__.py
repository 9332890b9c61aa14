"""The options of every method, each described once.

The command line makes its parameters of them (``cli/parameters.py``), the calls in SQL their arguments
(``sql_calls/arguments.py``), and ``docs/options.md`` is written from them. The methods of
:class:`ppdm_sql.Database` spell their signatures out, for editors and type checkers; a test compares both.
"""

from ppdm_sql.options.methods import OPTIONS
from ppdm_sql.options.option import REQUIRED, Form, Option

__all__ = ["OPTIONS", "REQUIRED", "Form", "Option"]
