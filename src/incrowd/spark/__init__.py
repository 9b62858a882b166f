"""The same release from a Spark cluster: it changes where the work is done, not what comes of it."""
