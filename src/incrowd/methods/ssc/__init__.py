"""SSC (semantic similarity based clustering): vocabulary k-anonymity by semantic matching."""
