"""Serow beside its peers: builds, starts, loads and measures servers, and writes docs/measurements/benchmarks.md."""
