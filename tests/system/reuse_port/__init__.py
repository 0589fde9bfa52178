"""Processes that share a port without a parent (SO_REUSEPORT) come and go."""
