-- unfinished_left | in: ppdm.unfinished | out: unfinished_left | grain: one row | params: -
-- Whether a run is left that has not finished: 0 or 1.
SELECT count(*) AS unfinished
FROM (
    SELECT u.release
    FROM ppdm.unfinished AS u
    LIMIT 1
) AS f;
