"""Partition on a cluster."""
