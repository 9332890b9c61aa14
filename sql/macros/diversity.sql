-- diversity | in: - | out: ppdm_diversity | grain: one row per combination of the columns of qi | params: -
-- FROM ppdm_diversity('policies', ['Age', 'Gender'], 'Amount')
-- Different sensitive values of a class, and the exponential of their entropy in nats.
-- Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam 2006, doi:10.1109/ICDE.2006.1.
CREATE OR REPLACE MACRO ppdm_diversity(tbl, qi, sensitive, person := NULL) AS TABLE
SELECT
    COLUMNS('(?s)^q_(.*)$') AS '\1',
    CAST(sum(first_of_class) AS BIGINT) AS records,
    count(*) AS distinct_l,
    round(exp(ln(sum(records)) - sum(records * ln(records)) / sum(records)), 12) AS entropy_l
FROM counted_cells(tbl, qi, 'qi', sensitive, 'sensitive', person)
GROUP BY ALL;
