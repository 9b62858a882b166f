"""The gateway: people ask through it, an untrusted provider sees less. Needs the extra ``incrowd[gateway]``."""
