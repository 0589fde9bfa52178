"""Applications in worker processes that die, hang, grow and are replaced, under load."""
