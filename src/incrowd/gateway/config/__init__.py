"""The gateway's configuration: read, validated, and tested before use."""
