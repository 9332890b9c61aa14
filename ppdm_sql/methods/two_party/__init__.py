"""TDS2P: two parties integrate their tables, and neither sees more of the other than the release tells."""
