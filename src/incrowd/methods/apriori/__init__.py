"""Apriori anonymization: k^m-anonymity by global generalization."""
