//! Properties of keys that count while a settings file is still a tree: which tables included files may have, and which
//! values name variables.

use serow_document::Format;

/// The format of settings files.
pub(crate) const FORMAT: Format = Format { included_tables: &["site", "upstream", "map", "limit"], has_variables };

fn has_variables(keys: &[&str]) -> bool {
    matches!(
        keys,
        ["access-log-format"]
            | [.., "access-log", "format" | "if"]
            | [.., "request-headers" | "response-headers", "value"]
            | ["limit", "key"]
            | ["map", ..]
            | [.., "error-pages", _, "path"]
            | [.., "headers", _]
            | [.., "redirect", "to"]
            | [.., "respond", "body"]
            | [.., "route", "rewrite"]
            | [.., "route", "rewrite", "to"]
            | [.., "set-header"]
            | [.., "when", "file"]
    )
}
