"""Made-up logs for tests, demos and benchmarks."""
