-- An analyst who never leaves SQL: from an empty file to exported releases and a model.
-- Run it in an empty folder:  ppdm sql people.duckdb --write --file analyst.sql

-- Synthetic persons; a function of age and salary decides who is in Group A.
CALL ppdm_generate_agrawal(into := 'people', function := 2, rows := 2000, seed := 7);
CALL ppdm_generate_agrawal(into := 'people_new', function := 2, rows := 500, seed := 8);

-- How many share age group, education and zip code with nobody?
CREATE VIEW persons AS
SELECT row_number() OVER () AS id, age::INTEGER AS age, elevel, zipcode, salary, class FROM people;
FROM ppdm_risk('persons', ['age', 'elevel', 'zipcode']);

-- Generalized until ten persons share each combination; the view is the release.
CALL ppdm_generalize('persons', into := 'people_k10', require := ['k >= 10 on age, elevel, zipcode'],
    class := 'class', range := {'age': [20, 81]});
SELECT age, count(*) AS persons FROM people_k10 GROUP BY ALL ORDER BY age;
FROM ppdm_risk('people_k10', ['age', 'elevel', 'zipcode']);
SELECT step, attribute, parent, children FROM ppdm.steps WHERE release = 'people_k10' ORDER BY step LIMIT 3;

-- New persons, seen through the same cut.
SELECT ppdm_generalize_value('people_k10', 'age', age::INTEGER) AS age, count(*) AS persons
FROM people_new GROUP BY ALL ORDER BY age;

-- Noisy salaries and ages: the values are lost, their distributions are not.
CALL ppdm_randomize('people', into := 'people_noisy', noise := {'salary': 'gaussian 50%', 'age': 'uniform 50%'},
    range := {'salary': [20000, 150000], 'age': [20, 80]}, class := 'class');
CALL ppdm_reconstruct('people_noisy', into := 'salaries', columns := 'salary', intervals := 5);

-- A tree grown from the noise predicts for true values, by a macro in plain SQL.
CALL ppdm_train('people_noisy', into := 'groups', class := 'class', test := 'people_new');
SELECT class, groups_predict(age, salary) AS predicted, count(*) AS persons
FROM people_new GROUP BY ALL ORDER BY ALL;

-- One's own noise and pseudonyms, by a secret key.
SELECT ppdm_pseudonym(id, 'keep this secret')[:12] AS person, ppdm_uniform_noise(age, 5, id, 'and this') AS age
FROM persons ORDER BY id LIMIT 3;

-- Files that hold the released rows and nothing else.
CALL ppdm_export('people_k10', 'people_k10.parquet');
CALL ppdm_export('people_noisy', 'people_noisy.csv');
SELECT release, method, rows, verified FROM ppdm.releases ORDER BY created_at;
