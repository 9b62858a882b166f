"""Differential privacy over people: items that many have, found and counted with noise."""
