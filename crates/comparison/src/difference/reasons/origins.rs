//! The reasons for other requests to origins.

use super::Context;
use crate::requests::Request;

/// The reason for another origin, or for another part of the request that it gets.
pub(super) fn reason(
    part: &str,
    nginx: &str,
    serow: &str,
    request: &Request,
    context: Context,
) -> Option<&'static str> {
    let path = request.path().to_ascii_lowercase();
    match part {
        "" if nginx == "–" && path.contains("/.") => Some("hidden files are not served: the application is next"),
        "" if context.asks && path.ends_with('/') && nginx == format!("{serow}, {serow}") => {
            Some("nginx asks the server of `auth_request` again for the index file of a folder")
        }
        "" if nginx == "–" && path.ends_with(".php") => {
            Some("the source of scripts is not sent: the application is next")
        }
        "" if context.caches && (nginx == "–") != (serow == "–") => {
            Some("each cache has its own keys: nginx's is the address of the upstream")
        }
        "content-type" | "CONTENT_TYPE" | "length"
            if request.body.is_some() && context.has_error_pages && matches!(serow, "–" | "0") =>
        {
            Some("the request for the page of an error has no body, which the error has had already")
        }
        "method" if context.caches && (nginx, serow) == ("GET", "HEAD") => {
            Some("Serow stores responses to GET only when a client sends GET")
        }
        "range" | "if-modified-since" | "if-none-match" if context.caches => Some("what a cache asks for is up to it"),
        "target" if nginx.strip_prefix('/') == Some(serow) && nginx.starts_with("//") => {
            Some("the prefix of a location and the path of `proxy_pass` are joined by one slash")
        }
        "target" if nginx.replacen("//", "/", 1) == serow && !path.contains("//") => {
            Some("the path of `proxy_pass` and the rest of the request's are joined by one slash")
        }
        "target" if path.contains("%2f") => Some("%2F for applications stays as it was sent (RFC 3986 §2.2)"),
        "target" | "PATH_INFO" if path.contains("//") && nginx == serow.replace("//", "/") => {
            Some("applications get repeated slashes as they were sent")
        }
        "target" if path.contains('%') && decoded(nginx) == decoded(serow) => {
            Some("applications get encoded letters as they were sent")
        }
        _ if context.is_script && matches!(nginx, "" | "–") && !context.is_named_variable => {
            Some("programs get the usual variables, also those that no `fastcgi_param` names")
        }
        _ => field(part, nginx, serow, request, context).or_else(|| variable(part, nginx, serow, request, context)),
    }
}

/// The reason for another field of a request.
fn field(part: &str, nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    match part {
        name if name.ends_with("port") && is_number(nginx) && is_number(serow) => Some("the client has another port"),
        "x-forwarded-for" | "x-forwarded-method" | "x-forwarded-uri" | "x-original-url" | "x-original-method"
            if context.asks && nginx == "–" =>
        {
            Some("the server of `forward-auth` gets the fields that all such servers know")
        }
        "content-type" | "range" | "if-modified-since" | "if-none-match" if context.asks && serow == "–" => {
            Some("the server of `forward-auth` gets no fields about a body or a stored copy")
        }
        "host" if nginx.strip_prefix(serow).is_some_and(|port| port.starts_with(':')) => {
            Some("clients name the port in Host, if it is not the usual one")
        }
        _ if request.accelerated().is_some_and(|path| serow.ends_with(path)) => {
            Some("behind `X-Accel-Redirect`, `$request_uri` is the path that it names")
        }
        "x-forwarded-uri" | "x-original-url" if context.asks => {
            Some("the server of `forward-auth` decides about the path that the file has, after `rewrite`")
        }
        "x-forwarded-host" if nginx == "–" => Some("X-Forwarded-Host for applications that make absolute addresses"),
        "x-forwarded-proto" if nginx == "–" => Some("X-Forwarded-Proto is sent with X-Forwarded-For"),
        "x-forwarded-for" if request.field("x-forwarded-for").is_some() => {
            Some("what a client claims in X-Forwarded-For is not passed on")
        }
        name if name.starts_with("x-forwarded-") && serow == "–" && request.field(name).is_some() => {
            Some("what a client claims in `X-Forwarded-…` is not passed on")
        }
        _ => None,
    }
}

/// The reason for another variable of a program.
fn variable(part: &str, nginx: &str, serow: &str, request: &Request, context: Context) -> Option<&'static str> {
    match part {
        "SERVER_NAME" | "HTTP_HOST" if nginx.eq_ignore_ascii_case(serow) => Some("names of hosts are in small letters"),
        "SCRIPT_FILENAME" | "SCRIPT_NAME" if nginx.replace("//", "/") == serow => Some("`//` in a path is `/`"),
        "SCRIPT_FILENAME" | "SCRIPT_NAME" if is_below(nginx, serow) => {
            Some("SCRIPT_NAME ends at the script: the rest of the path is PATH_INFO (RFC 3875 §4.1.13)")
        }
        "REMOTE_USER" if serow == "–" && !context.authenticates => {
            Some("REMOTE_USER is only a user with a valid password: nginx takes the name that the client claims")
        }
        "SERVER_NAME" if !context.is_known_host || serow.eq_ignore_ascii_case(&request.host) || nginx == "_" => {
            Some("SERVER_NAME is the host of the request (RFC 3875 §4.1.14)")
        }
        "PATH_INFO" if nginx == "–" && !context.is_named_variable => {
            Some("PATH_INFO is there also without `fastcgi_param` (RFC 3875 §4.1.5)")
        }
        _ if context.is_named_variable && names_host(nginx, serow, &request.host) => {
            Some("`$server_name` is the host of the request")
        }
        "HTTPS" if nginx == "off" && serow == "–" => Some("HTTPS=off is as good as none"),
        "DOCUMENT_URI" | "PATH_TRANSLATED" if serow == "–" => {
            Some("SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME say the same")
        }
        _ => None,
    }
}

/// Whether a value has the host where nginx's has another one.
fn names_host(nginx: &str, serow: &str, host: &str) -> bool {
    let around = serow.split_once(host).filter(|_| !host.is_empty());
    around.is_some_and(|(before, behind)| {
        nginx.len() > before.len() + behind.len() && nginx.starts_with(before) && nginx.ends_with(behind)
    })
}

/// Whether a path goes on behind a script.
fn is_below(path: &str, script: &str) -> bool {
    script.ends_with(".php") && path.strip_prefix(script).is_some_and(|rest| rest.starts_with('/'))
}

fn is_number(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
