SELECT
    ward,
    age,
    diagnosis
FROM {{ source('releases', 'visits_safe') }}
