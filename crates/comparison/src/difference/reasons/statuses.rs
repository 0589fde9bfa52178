//! The reasons for other statuses.

use super::{Context, MISSING_SCRIPT, is_hidden, is_unsent};
use crate::requests::Request;

/// The reason for another status.
pub(super) fn reason(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path();
    let [nginx, serow] = [nginx, serow].map(|value| value.split(' ').next().unwrap_or_default());
    let has_dots = path.contains("/../") || path.contains("/./") || path.ends_with("/..");
    let is_hidden = is_hidden(path);
    // nginx removes a last dot.
    let is_folder = path.ends_with('/') || path.ends_with("/.");
    let has_extension = path.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.ends_with(".html"));
    match (nginx, serow) {
        (_, "421") if !context.is_known_host => Some("421: no site has the host (RFC 9110 §15.5.20)"),
        (_, "400" | "404") if has_dots => Some("400: clients remove dot segments themselves (RFC 3986 §5.2.4)"),
        (_, "404") if path.to_ascii_lowercase().contains("%2f") => {
            Some("%2F does not separate names of files (RFC 3986 §2.2)")
        }
        ("403", "404") if is_folder => Some("404 for a folder without an index: nobody learns which there are"),
        ("403", "405") if context.limits_methods => {
            Some("405 for methods that a location does not have (RFC 9110 §15.5.6)")
        }
        ("503", "429") if context.limits_requests => Some("429 for too many requests (RFC 6585 §4)"),
        ("200" | "206" | "304", "404") if is_hidden => Some("hidden files are not served"),
        ("200" | "206" | "304", "301" | "302") if is_unsent(path) && context.leads_on && !context.is_of_origin => {
            Some("hidden files and sources of scripts are not sent: the last candidate of `try_files` is next")
        }
        ("200" | "206" | "304", "403") if is_hidden && context.tries_files => {
            Some("hidden files are not served: the fallback of `try_files` is the response")
        }
        ("301" | "403", "500") if context.is_folder_without_index && context.ends_at_page => {
            Some("the page that `try_files` ends at is missing: 500 also for a folder without an index")
        }
        ("301" | "403", _) if context.is_folder_without_index && !serow.starts_with('5') => {
            Some("a folder without an index is for the fallback of `try_files`, too")
        }
        ("206", "200") if context.lists && path.ends_with('/') => Some("a listing is sent as a whole"),
        ("403", "200") if path.ends_with('/') && context.is_of_serows_origin => {
            Some("a folder without an index is for the front controller, too")
        }
        ("200", "206") if context.caches => {
            Some("a part of a stored response is sent, also if the origin sends no parts (RFC 9110 §14.2)")
        }
        ("200", "304") if request.field("if-modified-since").is_some() => {
            Some("304 also for dates later than the file's")
        }
        ("200", "404") if context.ends_at_page && has_extension => {
            Some("start pages are not sent in the place of images and scripts")
        }
        ("404", "200") if context.caches && request.accelerated().is_some() => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        _ => of_script(nginx, serow, path, context).or_else(|| of_method(nginx, serow, request, context)),
    }
}

/// The reason for another status where scripts are.
fn of_script(nginx: &str, serow: &str, path: &str, context: Context) -> Option<&'static str> {
    match (nginx, serow) {
        ("200" | "206" | "304", "500") if context.ends_at_script && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        ("200" | "206" | "304", "403" | "404") if path.ends_with(".php") && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        ("200", "404") if (path.contains(".php") || context.is_script) && context.is_of_origin => Some(MISSING_SCRIPT),
        ("200" | "206", "404") if path.ends_with('/') && context.indexes_scripts && !context.is_of_origin => {
            Some("the source of scripts is not sent")
        }
        _ => None,
    }
}

/// The reason for another status of a request with a method that files do not have.
fn of_method(nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    let path = request.path();
    let changes = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS");
    match (nginx, serow) {
        ("301" | "403" | "404" | "500", "405")
            if changes
                && (nginx != "403" || path.ends_with('/'))
                && (!context.is_of_origin || context.lacks_error_script) =>
        {
            Some("405 for methods that files do not have, also for folders and where there is no file")
        }
        ("405", "200") if changes && context.is_of_serows_origin => {
            Some("other methods than GET and HEAD are for the application")
        }
        ("405", "200" | "204") if request.method == "OPTIONS" => Some("OPTIONS has an answer (RFC 9110 §9.3.7)"),
        _ => None,
    }
}
