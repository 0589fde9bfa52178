"""Routes to containers of a real Podman, by their labels."""
