-- noise_models | in: - | out: noise_models | grain: one row per column | params: columns, noises, types
-- What the texts say that a release keeps of its noise; kind is NULL where a text cannot be read. Added noise is
-- rounded to a power of two about a millionth of its scale, or to the grid of the originals where the text says so:
-- whole numbers, or the decimals of the column's type. Labels are those of cells, or the categories.
WITH texts AS (
    SELECT
        unnest(CAST($columns AS VARCHAR[])) AS attribute,
        unnest(CAST($noises AS VARCHAR[])) AS noise,
        unnest(CAST($types AS VARCHAR[])) AS type
),
parts AS (
    SELECT
        t.attribute,
        t.type,
        regexp_extract(t.noise, '^(gaussian|uniform) ', 1) AS added,
        TRY_CAST(regexp_extract(t.noise, '^(gaussian|uniform|retain) ([^ ]+) o', 2) AS DOUBLE) AS amount,
        TRY_CAST(regexp_extract(t.noise, ' on ([^ ,]+),', 1) AS DOUBLE) AS lower,
        TRY_CAST(regexp_extract(t.noise, ' on [^ ,]+,([^ ,]+)', 1) AS DOUBLE) AS upper,
        regexp_matches(t.noise, ' on [^ ]+ whole') AS whole,
        regexp_matches(t.noise, ' on .* rounded$') AS rounded,
        TRY_CAST(regexp_extract(t.type, '^DECIMAL\(\d+, ?(\d+)\)$', 1) AS INTEGER) AS decimals,
        string_split(regexp_extract(t.noise, '^cells (.+)$', 1), ',') AS edges,
        regexp_extract_all(
            regexp_extract(t.noise, '(?s)^retain [^ ]+ of (.+)$', 1), '''(?:[^'']|'''')*''|[^'',]+'
        ) AS written
    FROM texts AS t
)
SELECT
    p.attribute,
    CASE
        WHEN p.added <> '' AND p.amount > 0 AND p.lower < p.upper THEN p.added
        WHEN len(p.edges) > 2 THEN 'cells'
        WHEN len(p.written) > 1 AND p.amount > 0 AND p.amount < 1 THEN 'retain'
    END AS kind,
    p.amount,
    p.lower,
    p.upper,
    p.whole,
    p.rounded,
    CASE
        WHEN p.added = '' THEN NULL
        WHEN NOT p.rounded THEN pow(2, floor(log2(p.amount)) - 20)
        WHEN p.whole THEN 1
        ELSE coalesce(pow(CAST(10 AS DOUBLE), -p.decimals), least(1, p.amount))
    END AS unit,
    CASE
        WHEN len(p.edges) > 2 THEN [
            '[' || p.edges[i] || ', ' || p.edges[i + 1] || CASE WHEN i + 1 = len(p.edges) THEN ']' ELSE ')' END
            FOR i IN range(1, len(p.edges))
        ]
        ELSE [
            CASE WHEN starts_with(w, '''') THEN replace(w[2:-2], '''''', '''') ELSE w END
            FOR w IN p.written
        ]
    END AS labels
FROM parts AS p;
