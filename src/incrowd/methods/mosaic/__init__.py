"""Mosaic: small sets of items, each held by at least k people, and nothing that links them."""
