"""ASGI by other people's tests and clients."""
