"""Results for readers: pages, charts and wording shared with the terminal."""
