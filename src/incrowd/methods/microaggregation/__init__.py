"""Semantic microaggregation."""
