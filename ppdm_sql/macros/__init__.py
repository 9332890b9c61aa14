"""Pure-SQL macros that are installed into a database file."""
