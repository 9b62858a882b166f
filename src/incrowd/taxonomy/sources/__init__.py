"""Where taxonomies come from."""
