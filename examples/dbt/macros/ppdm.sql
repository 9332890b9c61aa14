{# The audit macros of `ppdm install` as generic tests: each gives the classes that break what is asked. #}

{% macro ppdm_text(text) %}'{{ text | string | replace("'", "''") }}'{% endmacro %}

{% macro ppdm_asked(model, columns, sensitive=none, person=none) %}
    {{- ppdm_text(model) }}, [{% for name in columns %}{{ ppdm_text(name) }}{{ ", " if not loop.last }}{% endfor %}]
    {%- if sensitive is not none %}, {{ ppdm_text(sensitive) }}{% endif %}
    {%- if person is not none %}, person := {{ ppdm_text(person) }}{% endif %}
{%- endmacro %}

{# k: at least so many records, or persons, share what the columns say. #}
{% test k_anonymity(model, columns, k, person=none) %}
SELECT *
FROM ppdm.ppdm_equivalence_classes({{ ppdm_asked(model, columns, person=person) }})
WHERE records < {{ k | int }}
{% endtest %}

{# l: so many sensitive values in each class; kind is distinct or entropy. #}
{% test l_diversity(model, columns, sensitive, l, kind="distinct", person=none) %}
SELECT *
FROM ppdm.ppdm_diversity({{ ppdm_asked(model, columns, sensitive, person) }})
WHERE {{ {"distinct": "distinct_l", "entropy": "entropy_l"}[kind] }} < {{ l | float }}
{% endtest %}

{# t: how far the sensitive values of a class may be from those of the table. #}
{% test t_closeness(model, columns, sensitive, t, person=none) %}
SELECT *
FROM ppdm.ppdm_closeness({{ ppdm_asked(model, columns, sensitive, person) }}) AS c
WHERE c.t > {{ t | float }}
{% endtest %}

{# threshold: how surely the columns may tell a sensitive value; without one, any of them. #}
{% test confidence(model, columns, sensitive, threshold, value=none, person=none) %}
SELECT *
FROM ppdm.ppdm_confidence({{ ppdm_asked(model, columns, sensitive, person) }})
{%- if value is none %}
WHERE confidence > {{ threshold | float }}
{%- else %}
{%- set column = '"' ~ sensitive | replace('"', '""') ~ '"' %}
WHERE CASE
    WHEN {{ ppdm_text(value) }} NOT IN (SELECT CAST(m.{{ column }} AS VARCHAR) FROM {{ model }} AS m WHERE m.{{ column }} IS NOT NULL)
        THEN error('The protected value does not occur in the column.')
    ELSE confidence > {{ threshold | float }} AND CAST({{ column }} AS VARCHAR) = {{ ppdm_text(value) }}
END
{%- endif %}
{% endtest %}
