-- known_labels | in: - | out: known_labels | grain: one row per attribute and text | params: attributes, texts, labels
-- What each leaf or interval of the attributes is shown as; NULL where the release shows nothing that holds it.
SELECT
    unnest(CAST($attributes AS VARCHAR[])) AS attribute,
    unnest(CAST($texts AS VARCHAR[])) AS text,
    unnest(CAST($labels AS VARCHAR[])) AS label;
