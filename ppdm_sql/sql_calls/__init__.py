"""The SQL surface: macros that live in the file, and calls and functions on a connection."""
