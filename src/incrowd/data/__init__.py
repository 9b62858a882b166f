"""Data that ships with incrowd: the WordNet table (see ``scripts/make_wordnet.py``) and its licence."""
