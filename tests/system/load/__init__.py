"""`serow bench` beside what it says of itself: counts, latencies, scripts, failures, ports and wording."""
