-- Classes with fewer than 5 records.
SELECT *
FROM ppdm.ppdm_equivalence_classes('visits_safe', ['sex', 'age', 'zip'])
WHERE records < 5;
