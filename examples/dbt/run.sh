#!/bin/sh
# A release in a warehouse that dbt tests at each build. Run it in an empty folder:  sh .../examples/dbt/run.sh
# It needs `ppdm` and, in an environment of its own, `pip install 'dbt-core<2' dbt-duckdb`.
set -eu
project=$(cd "$(dirname "$0")" && pwd)

ppdm demo > demo.txt
ppdm generalize clinic.duckdb ppdm-demo/visits.csv --class readmitted --keep ward --into visits_safe --quiet \
    --require 'k >= 5 on sex, age, zip' --require 'sex, age, zip -> diagnosis = addiction <= 50%' \
    --taxonomy 'age=ranges 5,10,20,40' --taxonomy 'zip=prefixes 2,3' --suppress-records 1%
ppdm install clinic.duckdb --quiet

CLINIC=$PWD/clinic.duckdb dbt build --project-dir "$project" --profiles-dir "$project" \
    --target-path "$PWD/target" --log-path "$PWD/logs"
