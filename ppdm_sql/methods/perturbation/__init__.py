"""Perturbation: value distortion, value-class membership, and reconstruction of the original distribution."""
