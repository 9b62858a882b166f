"""A release: made of classes, described, written and published only if its audit holds."""
