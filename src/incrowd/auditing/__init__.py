"""The audit: an independent recount of written files."""
