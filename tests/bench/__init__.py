"""Benchmarks: every speed is a ratio to a named reference that is measured in the same run."""
