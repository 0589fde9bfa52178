"""HTTP/2: other people's programs against ours, and attacks."""
