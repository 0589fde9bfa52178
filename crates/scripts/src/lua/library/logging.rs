//! `serow.log`: lines in the log of the server.

use mlua::{Lua, LuaString, Table};
use serow_gateway::LogLimit;

/// Provides it: `serow.log(text)`, and `serow.log("warn", text)` for another level.
pub(super) fn provide(lua: &Lua, serow: &Table, name: &str) -> mlua::Result<()> {
    let (name, limit) = (name.to_owned(), LogLimit::new());
    let log = lua.create_function(move |_, (first, second): (LuaString, Option<LuaString>)| {
        let (level, text) = match &second {
            Some(text) => (first.to_string_lossy().to_string(), text),
            None => ("info".to_owned(), &first),
        };
        // A script logs as often as clients ask.
        let Some(suppressed) = limit.admit_now() else { return Ok(()) };
        let more = if suppressed.0 > 0 { format!(" (and {suppressed} more lines before)") } else { String::new() };
        let text: String = text.to_string_lossy().chars().take(MAX_LINE).collect();
        let text = text.escape_debug();
        match &*level {
            "debug" => tracing::debug!("script {name}: {text}{more}"),
            "info" => tracing::info!("script {name}: {text}{more}"),
            "warn" => tracing::warn!("script {name}: {text}{more}"),
            "error" => tracing::error!("script {name}: {text}{more}"),
            other => {
                let text = format_args!("serow.log has the levels debug, info, warn and error, not {other:?}");
                return Err(mlua::Error::runtime(text));
            }
        }
        Ok(())
    })?;
    serow.raw_set("log", log)
}

/// Characters of a line: the log is for people.
const MAX_LINE: usize = 1000;
