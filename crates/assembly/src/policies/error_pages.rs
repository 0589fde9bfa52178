//! Pages for errors: which statuses they are for, and what is in them.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use serow_config::tables::error_pages::{ErrorPageTable, PageStatusChoice};
use serow_message::StatusCode;
use serow_router::RewriteTarget;
use serow_site::{ErrorPage, PageStatus, PageTarget, RoutedPage};
use serow_variables::Scope;

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

/// The page that routes make, whose path may have these variables; the error says what to do.
pub(super) fn routed(table: &ErrorPageTable, scope: &Scope) -> Result<Arc<RoutedPage>, String> {
    let target = match (&table.route, &table.path) {
        (_, Some(path)) => {
            let target = RewriteTarget::with_variables(path, scope).map_err(|error| format!("{path:?}: {error}"))?;
            PageTarget::Path(target)
        }
        // A table without either is reported before.
        (name, None) => PageTarget::Route(name.clone().unwrap_or_default().into()),
    };
    let status = match table.status {
        None => PageStatus::OfError,
        Some(PageStatusChoice::Route) => PageStatus::OfRoute,
        Some(PageStatusChoice::Fixed(status)) => {
            PageStatus::Fixed(StatusCode::from_u16(status).map_err(|error| error.to_string())?)
        }
    };
    Ok(Arc::new(RoutedPage { target, status }))
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
