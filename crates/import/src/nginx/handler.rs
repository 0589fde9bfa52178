//! The handler of a route.

use serow_settings_writer::{table::Table, value::Value};

/// The kind of a handler, which decides about the settings around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandlerKind {
    Files,
    Proxy,
    Php,
    Respond,
    Redirect,
}

impl HandlerKind {
    /// The key of the handler in a route.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Proxy => "proxy",
            Self::Php => "php",
            Self::Respond => "respond",
            Self::Redirect => "redirect",
        }
    }

    /// Whether the response is made from the route alone: nginx's `return` acts before access control.
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Respond | Self::Redirect)
    }
}

/// A handler with its settings.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) kind: HandlerKind,
    pub(crate) table: Table,
    /// The beginning of the names of its directives: `proxy` of `proxy_read_timeout`; nothing if it passes no requests.
    pub(crate) family: &'static str,
    /// Whether it passes them over TLS.
    pub(crate) has_tls: bool,
    /// Fields that the request gets: of programs, as variables whose names begin with HTTP_.
    pub(crate) fields: Vec<(String, String)>,
    /// The path that the handler gets in place of that of the request.
    pub(crate) rewrite: Option<String>,
}

impl Handler {
    /// A handler with these settings.
    pub(crate) fn new(kind: HandlerKind, table: Table) -> Self {
        Self { kind, table, family: "", has_tls: false, fields: Vec::new(), rewrite: None }
    }

    /// A handler that passes requests, whose directives begin with this name.
    pub(crate) fn passing(kind: HandlerKind, family: &'static str) -> Self {
        Self { family, ..Self::new(kind, Table::default()) }
    }

    /// A response with a status alone.
    pub(crate) fn responding(status: u64) -> Self {
        let mut table = Table::default();
        table.set("status", Value::Number(status));
        Self::new(HandlerKind::Respond, table)
    }

    /// A redirect; 302 is its usual status.
    pub(crate) fn redirecting(to: impl Into<Value>, status: u64) -> Self {
        let mut table = Table::default();
        table.set("to", to);
        if status != 302 {
            table.set("status", Value::Number(status));
        }
        Self::new(HandlerKind::Redirect, table)
    }
}
