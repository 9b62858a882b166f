"""The studio: the whole job in a browser, on this machine alone. Every job is a run of the command line in a process of its own."""
