"""The files of a release: their forms, names and contents. The audit reads these and nothing else."""
