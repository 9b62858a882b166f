"""Results shown to people: the terminal's tables and the release's page."""
