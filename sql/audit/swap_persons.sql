-- swap_persons | in: swap_rows | out: swap_persons | grain: one row per person | params: -
-- Persons by what they are known by, the set of the non-confidential patterns of their rows, with their
-- confidential value and how many they have.
SELECT
    r.person,
    hash(list_sort(list(DISTINCT r.pattern))) AS pattern,
    min(r.value) AS value,
    count(DISTINCT r.value) AS "values"
FROM swap_rows AS r
GROUP BY r.person;
