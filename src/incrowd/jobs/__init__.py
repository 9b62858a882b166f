"""From files and options to a release, a comparison or an error."""
