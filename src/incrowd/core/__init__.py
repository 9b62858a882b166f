"""The base layer: data in arrays, claims, and atomic file writes."""
