//! Which stream is served next (RFC 9218 §10).
