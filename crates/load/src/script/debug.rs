//! The functions of Lua's library `debug` that say where a script is. The library itself is not for safe code.

use mlua::{
    Function, Lua, Table, Value,
    debug::{Debug, DebugNames, DebugSource},
};

use super::kind;

/// The table `debug`, with `traceback` and `getinfo`.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let traceback = lua.create_function(|lua, (message, level): (Value, Option<usize>)| {
        let text = match &message {
            Value::Nil => None,
            Value::String(_) | Value::Integer(_) | Value::Number(_) => Some(message.to_string()?),
            // As Lua does: errors that are no text go through unchanged.
            _ => return Ok(message),
        };
        Ok(Value::String(lua.traceback(text.as_deref(), level.unwrap_or(1))?))
    })?;
    table.set("traceback", traceback)?;
    let getinfo = lua.create_function(|lua, (what, _): (Value, Value)| match what {
        Value::Function(function) => of_function(lua, &function).map(Some),
        Value::Integer(level) => of_level(lua, usize::try_from(level).unwrap_or(usize::MAX)),
        Value::Number(level) => of_level(lua, level as usize),
        other => {
            Err(mlua::Error::runtime(format_args!("a function or a level is needed, not a {} value", kind(&other))))
        }
    })?;
    table.set("getinfo", getinfo)?;
    Ok(table)
}

fn of_level(lua: &Lua, level: usize) -> mlua::Result<Option<Table>> {
    lua.inspect_stack(level, |debug: &Debug<'_>| {
        let (DebugNames { name, name_what, .. }, source) = (debug.names(), debug.source());
        let table = of_source(lua, &source)?;
        table.set("currentline", debug.current_line())?;
        table.set("name", name.as_deref())?;
        table.set("namewhat", name_what)?;
        table.set("func", debug.function())?;
        Ok(table)
    })
    .transpose()
}

fn of_source(lua: &Lua, source: &DebugSource<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("source", source.source.as_deref())?;
    table.set("short_src", source.short_src.as_deref())?;
    table.set("linedefined", source.line_defined)?;
    table.set("lastlinedefined", source.last_line_defined)?;
    table.set("what", source.what)?;
    Ok(table)
}

fn of_function(lua: &Lua, function: &Function) -> mlua::Result<Table> {
    let info = function.info();
    let table = lua.create_table()?;
    table.set("source", info.source)?;
    table.set("short_src", info.short_src)?;
    table.set("linedefined", info.line_defined)?;
    table.set("lastlinedefined", info.last_line_defined)?;
    table.set("what", info.what)?;
    table.set("nups", info.num_upvalues)?;
    table.set("func", function)?;
    Ok(table)
}
