-- linkage | in: sides | out: linkage | grain: one row | params: known VARCHAR[]
-- Who knows some columns of a person picks one of the released records that look alike, and finds the right one with
-- a chance of 1 in so many. A record that was left out finds no such records, or the wrong ones.
-- Source: Sweeney 2002, doi:10.1142/S0218488502001648.
WITH candidates AS (
    SELECT
        row(*COLUMNS(getvariable('known'))) AS class,
        count(DISTINCT s.person) FILTER (s.side = 'source')
        + coalesce(sum(s.weight) FILTER (s.side = 'source' AND s.person IS NULL), 0) AS sought,
        count(DISTINCT s.person) FILTER (s.side = 'release')
        + coalesce(sum(s.weight) FILTER (s.side = 'release' AND s.person IS NULL), 0) AS shown,
        count(DISTINCT s.person) FILTER (s.side = 'control')
        + coalesce(sum(s.weight) FILTER (s.side = 'control' AND s.person IS NULL), 0) AS others
    FROM sides AS s
    GROUP BY ALL
)
SELECT
    CAST(sum(c.sought) AS BIGINT) AS tried,
    sum(least(c.sought, c.shown) / c.shown) FILTER (c.shown > 0) AS successes,
    1 / min(c.shown) FILTER (c.shown > 0) AS worst,
    CAST(sum(c.shown) AS BIGINT) AS released,
    CAST(coalesce(sum(c.sought) FILTER (c.shown = 0), 0) AS BIGINT) AS absent,
    CAST(sum(c.others) AS BIGINT) AS others,
    CAST(coalesce(sum(c.others) FILTER (c.shown = 0), 0) AS BIGINT) AS others_absent
FROM candidates AS c;
