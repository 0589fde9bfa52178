"""The access log, with real consumers; each line is counted."""
