-- Classes that tell an addiction with more than 50 % confidence.
SELECT *
FROM ppdm.ppdm_confidence('visits_safe', ['sex', 'age', 'zip'], 'diagnosis')
WHERE confidence > 0.5
    AND diagnosis = 'addiction';
