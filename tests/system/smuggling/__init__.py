"""Requests made to be read in two ways: what one server takes for a body is the next one's request."""
