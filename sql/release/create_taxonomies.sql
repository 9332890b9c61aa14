-- create_taxonomies | in: - | out: ppdm.taxonomies | grain: one row per release, attribute and node | params: -
-- The trees of the masked columns; lower, upper and closed for intervals, shown for the nodes of the cut.
-- Holds values of the source: the owner's, never exported.
CREATE TABLE IF NOT EXISTS ppdm.taxonomies (
    release VARCHAR,
    attribute VARCHAR,
    node INTEGER,
    parent INTEGER,
    label VARCHAR,
    lower VARCHAR,
    upper VARCHAR,
    closed BOOLEAN,
    shown BOOLEAN
);
