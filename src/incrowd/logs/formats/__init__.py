"""File formats of logs: bytes, encodings, records, rows."""
