//! The methods that are allowed, for `Allow`.

/// On anything, where clients may upload new files only.
pub(crate) const FORM: &str = "GET, HEAD, OPTIONS, PUT";

/// On a file, where clients may upload only.
pub(crate) const PUT_ONLY: &str = "GET, HEAD, OPTIONS, PUT, DELETE";

/// On anything.
pub(crate) const ALL: &str = "GET, HEAD, OPTIONS, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK";

/// On a folder.
pub(crate) const FOLDER: &str = "GET, HEAD, OPTIONS, DELETE, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK";

/// On something that exists, whatever it is.
pub(crate) const EXISTING: &str = "GET, HEAD, OPTIONS, PUT, DELETE, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK";
