"""Tables that DuckDB and Spark are known to see differently."""

from __future__ import annotations

ODD = """odd `na"me'; {0}"""
"""A column's name with all that may end a name."""

_QUOTED = ODD.replace('"', '""')
EDGES = f"""
SELECT * FROM (VALUES
    ('a', 1::TINYINT, 1.5::DOUBLE, 0.1::FLOAT, 1.10::DECIMAL(5,2), DATE '2020-02-29',
        TIMESTAMP '2020-01-01 12:00:00.123456', TIMESTAMPTZ '2020-03-29 01:30:00.000001+00',
        true, 1::BIGINT, 'x'),
    ('a ', 2, -0.0, -0.0, 1.11, DATE '1582-10-15', TIMESTAMP '1969-12-31 23:59:59',
        TIMESTAMPTZ '1969-12-31 23:59:59+05:30', false, 2, 'x'),
    ('A', 2, 0.0, 0.0, 1.11, DATE '9999-12-31', TIMESTAMP '1969-12-31 23:59:59',
        TIMESTAMPTZ '1969-12-31 18:29:59+00', false, 2, 'y'),
    ('é', 3, 'NaN', 'NaN', NULL, NULL, NULL, NULL, NULL, 3, NULL),
    ('e' || chr(769), 3, 'NaN', 'NaN', -3.00, NULL, NULL, NULL, NULL, 0, NULL),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, ''),
    ('', -128, 'inf', '-inf', 999.99, DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00',
        TIMESTAMPTZ '9999-12-31 23:59:59+00', true, 5, 'ß'),
    ('a', 1, 1.5, 0.1, 1.10, DATE '2020-02-29', TIMESTAMP '2020-01-01 12:00:00.123456',
        TIMESTAMPTZ '2020-03-29 01:30:00.000001+00', true, 1, 'x')
) v(text, small, real, single, exact, day, moment, instant, yes, n, "{_QUOTED}")
"""
"""Values that engines see differently, and one row twice; ``n`` counts."""
