-- Classes whose diagnoses are further than 0.6 from those of the table.
SELECT *
FROM ppdm.ppdm_closeness('visits_safe', ['age'], 'diagnosis') AS c
WHERE c.t > 0.6;
