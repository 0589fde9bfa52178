//! Frames (RFC 9113 §4, §6; RFC 9218 §7.1), read and written.
