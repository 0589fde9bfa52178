"""`serow run`: reloads, crashes, kills."""
