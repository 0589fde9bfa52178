//! Field compression (RFC 9204).
