-- average_risk | in: classes | out: average_risk | grain: one row per class | params: table_records HUGEINT, risk_numerator BIGINT, risk_denominator BIGINT
-- Classes divided by records: the mean risk of a record, which is 1 / class size. It is a number of the whole
-- table, so each class has the same, and all classes violate it or none.
-- Source: El Emam, Dankar 2008, doi:10.1197/jamia.M2716.
WITH counted_classes AS (
    SELECT
        c.class,
        c.class_records,
        CAST(count(*) OVER () AS HUGEINT) AS classes
    FROM classes AS c
)
SELECT
    c.class,
    c.class_records,
    c.classes / param('table_records') AS reached,
    c.classes * param('risk_denominator') > param('table_records') * param('risk_numerator') AS violates
FROM counted_classes AS c;
