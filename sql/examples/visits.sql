-- visits | in: - | out: visits | grain: one row per patient | params: -
-- 1,000 stays in a hospital, one a patient; all made up, and the same wherever they are made.
-- Age, ward, zip, sex and days decide how likely a patient comes back, so that a classifier has something to find.
WITH drawn AS (
    -- Digits of an MD5 sum serve as chance: no engine's generator takes part.
    SELECT
        number,
        md5(concat('visit ', number)) AS digits
    FROM range(1, 1001) AS counted(number)
),

chances AS (
    SELECT
        number,
        CAST(concat('0x', substr(digits, 1, 4)) AS INTEGER) / 65536.0 AS a,
        CAST(concat('0x', substr(digits, 5, 4)) AS INTEGER) / 65536.0 AS b,
        CAST(concat('0x', substr(digits, 9, 4)) AS INTEGER) / 65536.0 AS c,
        CAST(concat('0x', substr(digits, 13, 4)) AS INTEGER) / 65536.0 AS d,
        CAST(concat('0x', substr(digits, 17, 4)) AS INTEGER) / 65536.0 AS e,
        CAST(concat('0x', substr(digits, 21, 4)) AS INTEGER) / 65536.0 AS f,
        CAST(concat('0x', substr(digits, 25, 4)) AS INTEGER) / 65536.0 AS g
    FROM drawn
),

people AS (
    SELECT
        number,
        if(a < 0.54, 'female', 'male') AS sex,
        CAST(18 + floor(76 * sqrt(b)) AS INTEGER) AS age,
        list_extract(
            ['02138', '02139', '02140', '02141', '02446', '02451'], CAST(1 + floor(6 * c * c) AS INTEGER)
        ) AS zip,
        list_extract(
            ['surgery', 'cardiology', 'oncology', 'psychiatry'], CAST(1 + floor(4 * d) AS INTEGER)
        ) AS ward,
        CAST(1 + floor(20 * e * e) AS INTEGER) AS days,
        f,
        g
    FROM chances
)

SELECT
    concat('P', lpad(CAST(number AS VARCHAR), 4, '0')) AS patient,
    sex,
    age,
    zip,
    ward,
    list_extract(
        CASE ward
            WHEN 'surgery' THEN ['fracture', 'hernia', 'appendicitis', 'fracture']
            WHEN 'cardiology' THEN ['angina', 'infarction', 'arrhythmia', 'angina']
            WHEN 'oncology' THEN ['breast cancer', 'colon cancer', 'lymphoma', 'colon cancer']
            ELSE ['depression', 'addiction', 'schizophrenia', 'depression']
        END,
        CAST(1 + floor(4 * f) AS INTEGER)
    ) AS diagnosis,
    days,
    if(
        g < CASE
            WHEN ward = 'oncology' AND age >= 50 THEN 0.85
            WHEN age >= 70 AND (days >= 4 OR zip >= '02400') THEN 0.75
            WHEN ward = 'psychiatry' AND sex = 'male' THEN 0.6
            ELSE 0.1
        END, 'yes', 'no'
    ) AS readmitted
FROM people
ORDER BY number;
