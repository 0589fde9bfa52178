//! Requests with forms and files.
