# The part for ASGI.
