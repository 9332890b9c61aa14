"""Perturbation: noise, distributions reconstructed behind it, and trees grown from them."""
