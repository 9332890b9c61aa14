-- create_agrawal | in: - | out: target | grain: one row per person | params: -
-- Attributes that are uniformly distributed are real numbers, those chosen uniformly are whole ones.
CREATE TABLE target (
    salary DOUBLE,
    commission DOUBLE,
    age DOUBLE,
    elevel INTEGER,
    car INTEGER,
    zipcode INTEGER,
    hvalue DOUBLE,
    hyears DOUBLE,
    loan DOUBLE,
    class VARCHAR
);
