"""Logs read on a cluster."""
