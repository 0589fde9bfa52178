//! The error log: what goes wrong, on standard error, a line each.

use std::{
    env,
    io::{self, IsTerminal},
    panic::{self, PanicHookInfo},
    thread,
};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::filter_fn, layer::SubscriberExt};

/// Begins to write what is at least as important as `level`, and with warnings also the few events that a quiet log should
/// have: a new certificate.
pub(crate) fn begin(level: LevelFilter) {
    let subscriber = tracing_subscriber::fmt()
        .compact()
        .with_max_level(level.max(LevelFilter::INFO))
        .with_target(false)
        .with_ansi(is_coloured())
        // It would complain about standard error on standard error, and panic where that fails too.
        .log_internal_errors(false)
        .with_writer(io::stderr)
        .finish()
        .with(filter_fn(move |event| {
            *event.level() <= level || (level >= LevelFilter::WARN && event.target() == serow_acme::NOTICE)
        }));
    // There is one already where a test began it.
    let _ = tracing::subscriber::set_global_default(subscriber);
    panic::set_hook(Box::new(log_panic));
}

/// Whether standard error is a terminal that shows colours (<https://no-color.org>).
pub(crate) fn is_coloured() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A panic costs a connection, not the server; here it becomes a line of the log like any other.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = thread::current();
    tracing::error!(thread = thread.name(), place, "a panic, which is a bug: {message}");
}
