"""Tables that live in Apache Spark: found and collapsed there; everything else is done in DuckDB."""
