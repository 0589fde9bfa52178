"""Servers that share rate limits and bans through Redis."""
