"""Servers that share certificates in one Redis: the parts of the test, and its scenes."""
