//! The contents that a route may have.

use super::rules::Rules;

/// The content of the route `/t/*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Files,
    FilesOrNext,
    Dav,
    Proxy,
    App,
    Redirect,
    Respond,
}

impl Content {
    /// The server that gets the requests, if one does.
    pub(super) fn server(self) -> Option<&'static str> {
        match self {
            Self::Proxy => Some("origin"),
            Self::App => Some("app"),
            _ => None,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Files => "files = { root = \"public\" }",
            Self::FilesOrNext => "files = { root = \"public\", missing = \"next\" }",
            Self::Dav => "files = { root = \"public\", write = \"dav\" }",
            Self::Proxy => "proxy = { upstream = \"origin\" }",
            Self::App => "app = { application = \"relay:app\", interpreter = \"/usr/bin/python3\", processes = 1 }",
            Self::Redirect => "redirect = { to = \"https://b.example/\", status = 302 }",
            Self::Respond => "respond = { status = 200, body = \"fixed\" }",
        }
    }

    pub(super) fn leave_out_what_is_refused(self, rules: &mut Rules) {
        if self.server().is_none() {
            rules.cache = None;
        }
        match self {
            Self::FilesOrNext => (rules.script, rules.methods, rules.rule) = (None, None, None),
            Self::Redirect | Self::Respond => (rules.max_body, rules.rule) = (None, None),
            Self::Files | Self::Dav | Self::Proxy | Self::App => {}
        }
    }
}
