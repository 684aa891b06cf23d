"""The pure part: no I/O, no clock, no randomness, no environment."""
