//! Pages for errors: which statuses they are for, and what is in them.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use serow_site::ErrorPage;

/// Reads the page in a file; the error says what to do.
pub(super) fn read(path: &Path) -> Result<ErrorPage, String> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let media_type = TYPES.into_iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, name)| name);
    let Some(media_type) = media_type else {
        return Err("an error page is a file that ends in .html, .json, .txt or .svg".to_owned());
    };
    let shown = path.display();
    let body = whole(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file {shown}: create it, or name another one"),
        _ => format!("{shown} cannot be read: {error}"),
    })?;
    if body.len() > MAX_PAGE {
        return Err(format!("{shown} is larger than 1 MiB, too large for an error page: make it smaller"));
    }
    Ok(ErrorPage { body: body.into(), media_type })
}

/// The content of a file, up to a byte more than a page may have.
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut body = Vec::new();
    file.take(MAX_PAGE as u64 + 1).read_to_end(&mut body)?;
    Ok(body)
}

/// Pages stay in memory, and clients that cause errors get them without end.
const MAX_PAGE: usize = 1 << 20;

const TYPES: [(&str, &str); 5] = [
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("json", "application/json"),
    ("txt", "text/plain; charset=utf-8"),
    ("svg", "image/svg+xml"),
];
