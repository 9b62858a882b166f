"""Tools for operators: metrics, log, health, ledgers, the demonstration."""
