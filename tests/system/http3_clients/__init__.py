"""HTTP/3 between Serow and other projects' clients."""
