//! The functions of a script that are called for a request.

/// A function of a script that is called for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Request,
    Response,
    Log,
}

impl Hook {
    /// Its place among all, from 1 on.
    pub(crate) fn place(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Response => 2,
            Self::Log => 3,
        }
    }

    /// The name of the function.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Log => "log",
        }
    }
}
