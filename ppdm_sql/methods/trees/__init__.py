"""Decision trees from original, randomized and reconstructed values."""
