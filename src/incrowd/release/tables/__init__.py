"""What analysts want out of a release, as tables: made from its files alone, so they disclose nothing new."""
