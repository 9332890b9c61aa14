-- Classes with fewer than 3 different diagnoses; entropy_l is the other kind.
SELECT *
FROM ppdm.ppdm_diversity('visits_safe', ['age'], 'diagnosis')
WHERE distinct_l < 3;
