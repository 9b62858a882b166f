"""The gateway: between people and a provider that is not trusted with their queries."""
