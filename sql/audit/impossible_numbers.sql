-- impossible_numbers | in: released | out: impossible_numbers | grain: one row | params: value VARCHAR, uniform, lower, upper, amount, unit, whole, rounded
-- Records with a number that its noise cannot give. Uniform noise ends at its scale, rounding goes half a unit further
-- (and binary fractions a little); what is not rounded to the grid of the originals is a multiple of a power of two.
SELECT
    count(*) AS records
FROM (
    SELECT
        CAST(COLUMNS(getvariable('value')) AS DOUBLE) AS number
    FROM released AS r
) AS n
WHERE NOT isfinite(n.number)
    OR ($uniform AND n.number < $lower - ($amount + $unit / 2) - 1e-12 * (abs($lower) + abs($upper)))
    OR ($uniform AND n.number > $upper + ($amount + $unit / 2) + 1e-12 * (abs($lower) + abs($upper)))
    OR ($rounded AND $whole AND n.number <> floor(n.number))
    OR (NOT $rounded AND n.number / $unit <> round(n.number / $unit));
