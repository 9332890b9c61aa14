-- agrawal_candidates | in: draws | out: agrawal_candidates | grain: one row per candidate | params: function INTEGER
-- Attributes and class of persons, from numbers drawn evenly out of [0, 1). The value of a house depends on its zipcode.
-- Source: Agrawal, Srikant 2000, Tables 2 and 3; function 3 is the fourth of Agrawal, Imielinski, Swami 1993.
WITH paid AS (
    SELECT
        d.*,
        20000 + 130000 * d.u_salary AS salary,
        20 + 60 * d.u_age AS age,
        CAST(floor(5 * d.u_elevel) AS INTEGER) AS elevel,
        CAST(1 + floor(9 * d.u_zipcode) AS INTEGER) AS zipcode
    FROM draws AS d
),
persons AS (
    SELECT
        p.position,
        p.salary,
        CASE WHEN p.salary >= 75000 THEN 0.0 ELSE 10000 + 65000 * p.u_commission END AS commission,
        p.age,
        p.elevel,
        CAST(1 + floor(20 * p.u_car) AS INTEGER) AS car,
        p.zipcode,
        p.zipcode * (50000 + 100000 * p.u_hvalue) AS hvalue,
        1 + 29 * p.u_hyears AS hyears,
        500000 * p.u_loan AS loan
    FROM paid AS p
)
SELECT
    p.position,
    p.salary,
    p.commission,
    p.age,
    p.elevel,
    p.car,
    p.zipcode,
    p.hvalue,
    p.hyears,
    p.loan,
    CASE param('function')
        WHEN 1 THEN p.age < 40 OR p.age >= 60
        WHEN 2 THEN CASE
            WHEN p.age < 40 THEN p.salary BETWEEN 50000 AND 100000
            WHEN p.age < 60 THEN p.salary BETWEEN 75000 AND 125000
            ELSE p.salary BETWEEN 25000 AND 75000
        END
        WHEN 3 THEN CASE
            WHEN p.age < 40 AND p.elevel <= 1 THEN p.salary BETWEEN 25000 AND 75000
            WHEN p.age >= 40 AND p.age < 60 AND (p.elevel < 1 OR p.elevel > 3)
                THEN p.salary BETWEEN 75000 AND 125000
            WHEN p.age >= 60 AND p.elevel < 2 THEN p.salary BETWEEN 25000 AND 75000
            ELSE p.salary BETWEEN 50000 AND 100000
        END
        WHEN 4 THEN 0.67 * (p.salary + p.commission) - 0.2 * p.loan - 10000 > 0
        WHEN 5 THEN 0.67 * (p.salary + p.commission) - 0.2 * p.loan
            + 0.2 * 0.1 * p.hvalue * greatest(p.hyears - 20, 0) - 10000 > 0
    END AS in_group_a
FROM persons AS p;
