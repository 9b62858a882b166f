"""What each provider was sent about each person, on disk."""
