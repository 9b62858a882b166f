"""The risk lab: attacks on raw data and on releases, run with the originals. For the owner's eyes."""
