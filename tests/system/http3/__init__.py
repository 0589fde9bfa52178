"""HTTP/3 with other projects' programs, with invalid input, and under attack."""
