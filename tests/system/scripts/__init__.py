"""Scripts in a running server."""
