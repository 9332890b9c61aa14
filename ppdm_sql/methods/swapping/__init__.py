"""Swapping: exchanging confidential values of records that their other columns give away."""
