#!/bin/sh
# The owner of personal records, at the command line: look at the risk, release, prove it, hand it out.
# Run it in an empty folder:  sh owner.sh
set -eu

# Synthetic persons; a function of their age and salary decides whether they are in group A or B.
ppdm generate agrawal people.duckdb --function 2 --rows 2000 --seed 7 --into people --quiet

# What do education and zip code give away today: who shares them, and how surely do they tell the car?
ppdm audit people.duckdb people \
    --require 'k >= 40 on elevel, zipcode' --require 'elevel, zipcode -> car <= 15%' ||
    echo "(exit code $?: a requirement does not hold)"

# A release in which both hold. The class is what a miner will want to predict; a column that no option names
# does not get out.
ppdm suppress people.duckdb people --class class --into people_safe \
    --require 'k >= 40 on elevel, zipcode' --require 'elevel, zipcode -> car <= 15%'

# What was disclosed in which order, and the proof afresh.
ppdm steps people.duckdb people_safe --format csv
ppdm verify people.duckdb people_safe

# A fresh file that holds the released rows and nothing else.
ppdm export people.duckdb people_safe people_safe.parquet
