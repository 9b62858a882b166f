"""Requests: who sent them, what the provider is sent, and the answer."""
