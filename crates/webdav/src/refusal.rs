//! Why a request is not carried out, as a response.

use rustix::io::Errno;
use serow_files::{FilesError, OpenError};
use serow_message::{BoxError, IncomingError, KnownHeader, Response, StatusCode};

use crate::{element::XmlError, multistatus::encoded};

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    /// The reason, with a remedy where there is one; a line.
    text: &'static str,
    /// A condition of RFC 4918 §16 that is not fulfilled, and the path that it is about.
    condition: Option<(&'static str, Option<Vec<u8>>)>,
    /// The methods that are allowed.
    allow: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, text: &'static str) -> Self {
        Self { status, text, condition: None, allow: None }
    }

    /// A condition of RFC 4918 §16 is not fulfilled.
    pub(crate) fn of_condition(status: StatusCode, condition: &'static str, path: Option<Vec<u8>>) -> Self {
        Self { condition: Some((condition, path)), ..Self::new(status, "") }
    }

    /// The method is not allowed here; these are.
    pub(crate) fn method(allow: &'static str, text: &'static str) -> Self {
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, text) }
    }

    pub(crate) fn bad_request(text: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn forbidden(text: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, text)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "")
    }

    /// RFC 4918 §9.8.5 and §9.9.4: the rules for this path may be others.
    pub(crate) fn of_another_route() -> Self {
        Self::forbidden("another route of the site is for this path, or for one below it")
    }

    /// RFC 4918 §9.7.1: the folder around the resource does not exist.
    pub(crate) fn no_parent() -> Self {
        Self::new(StatusCode::CONFLICT, "create the folder around it first")
    }

    pub(crate) fn precondition() -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "it has changed")
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The body could not be received.
    pub(crate) fn of_body(error: &BoxError) -> Self {
        match error.downcast_ref::<IncomingError>() {
            Some(IncomingError::TooLarge) => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
            Some(IncomingError::TimedOut) => Self::new(StatusCode::REQUEST_TIMEOUT, "the body arrived too slowly"),
            _ => Self::bad_request("the body is not complete"),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::TOOBIG | Errno::RANGE => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "there is no room left")
            }
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::forbidden("the server's user may not change this"),
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::not_found(),
            Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ => Self::forbidden("the file system has no such names"),
            Errno::XDEV => {
                Self::new(StatusCode::BAD_GATEWAY, "it cannot be moved to another file system: copy and delete it")
            }
            Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR => {
                Self::new(StatusCode::CONFLICT, "it was changed at the same time: try again")
            }
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Self::new(StatusCode::SERVICE_UNAVAILABLE, "try again later"),
            errno => {
                tracing::error!("cannot change a served folder: {errno}");
                StatusCode::INTERNAL_SERVER_ERROR.into()
            }
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).unwrap_or(Errno::IO).into()
    }
}

impl From<StatusCode> for Refusal {
    fn from(status: StatusCode) -> Self {
        Self::new(status, "")
    }
}

impl From<OpenError> for Refusal {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotFound | OpenError::Link => Self::not_found(),
            OpenError::Forbidden => StatusCode::FORBIDDEN.into(),
            OpenError::Exhausted => Self::new(StatusCode::SERVICE_UNAVAILABLE, "try again later"),
            OpenError::Failed => StatusCode::INTERNAL_SERVER_ERROR.into(),
        }
    }
}

impl From<FilesError> for Refusal {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Unreadable(..) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "try again later"),
            _ => Self::not_found(),
        }
    }
}

impl From<XmlError> for Refusal {
    fn from(error: XmlError) -> Self {
        match error {
            XmlError::Malformed => Self::bad_request("the body is not the XML that the method needs"),
            XmlError::TooComplex => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "the XML of the body is too complex"),
        }
    }
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, text, condition, allow } = refusal;
        let mut response = Self::plain_status(status);
        if let Some((condition, path)) = condition {
            let inside = path.map(|path| format!("<D:href>{}</D:href>", encoded(&path))).unwrap_or_default();
            response = xml(
                status,
                format!(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
                     <D:error xmlns:D=\"DAV:\"><D:{condition}>{inside}</D:{condition}></D:error>\n"
                ),
            );
        } else if !text.is_empty() {
            let reason = status.canonical_reason().unwrap_or("Unknown");
            response = response.body(format!("{} {reason}: {text}\n", status.as_str()));
        }
        match allow {
            Some(methods) => response.with(KnownHeader::Allow, methods),
            None => response,
        }
    }
}

/// A response in XML.
pub(crate) fn xml(status: StatusCode, text: impl Into<serow_message::Body>) -> Response {
    Response::new(status).with(KnownHeader::ContentType, "application/xml; charset=utf-8").body(text)
}
