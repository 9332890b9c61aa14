"""What stands where a table's name may stand: files that DuckDB reads, data frames, attached databases."""

from ppdm_sql.sources.attaching import attach, attachment, detach
from ppdm_sql.sources.files import is_data_file, is_spreadsheet
from ppdm_sql.sources.given import Source, given, like, read_again, takes_sources

__all__ = [
    "Source",
    "attach",
    "attachment",
    "detach",
    "given",
    "is_data_file",
    "is_spreadsheet",
    "like",
    "read_again",
    "takes_sources",
]
