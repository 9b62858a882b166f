"""Flock on a cluster."""
