"""Data that ships with incrowd: WordNet (``scripts/make_wordnet.py``), words that it lacks (``scripts/make_words.py``), and their licences."""
