"""Real applications, installed from their packages, run by Serow, and used as a person would."""
