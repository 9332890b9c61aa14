"""Who can be found in a table, and what an attacker gets out of a release."""
