//! Frameworks.
