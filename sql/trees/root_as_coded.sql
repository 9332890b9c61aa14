-- root_as_coded | in: coded | out: root_as_coded | grain: one row per record | params: -
-- All records at the root, with the values as they are: nothing is reconstructed.
SELECT
    0::INTEGER AS node,
    c.*
FROM coded AS c;
