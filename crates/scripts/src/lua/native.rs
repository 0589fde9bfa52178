//! The functions of the server behind requests and responses, which scripts reach through the prelude.

use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, Value};
use serow_message::Headers;

use crate::lua::{
    header_fields, header_rules,
    held::{Held, HeldTable},
    request_fields, response_cell,
};

/// The table of these functions. They know requests and responses by their numbers.
pub(crate) fn table(lua: &Lua, held: &Rc<HeldTable>, memory: usize) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    let natives = Natives { lua, held, memory };
    native.raw_set(
        "header",
        natives.read(|lua, held, name| held.headers(|headers| found(header_fields::value(lua, headers, name))))?,
    )?;
    native.raw_set(
        "header_values",
        natives.read(|lua, held, name| held.headers(|headers| found(header_fields::values(lua, headers, name))))?,
    )?;
    native.raw_set(
        "all_headers",
        natives.read_all(|lua, held| held.headers(|headers| found(header_fields::all(lua, headers))))?,
    )?;
    native.raw_set(
        "set_header",
        natives.change(|held, name, value| {
            held.change_headers(|headers| header_rules::set(headers, &header_rules::name(name), value))
        })?,
    )?;
    native.raw_set(
        "add_header",
        natives.change(|held, name, value| {
            held.change_headers(|headers| header_rules::add(headers, &header_rules::name(name), value))
        })?,
    )?;
    let fields = lua.create_function(|lua, lines: LuaString| header_fields::of_lines(lua, &lines.as_bytes()))?;
    native.raw_set("fields", fields)?;
    let request_field = natives.read(|lua, held, name| match held {
        Held::Request(context) => {
            context.with(|request| request_fields::get(lua, request, context.trusted(), &name.as_bytes()))
        }
        Held::Response(_) => Err(WRONG.to_owned()),
    })?;
    native.raw_set("request_field", request_field)?;
    native.raw_set(
        "set_request_field",
        natives.change(|held, name, value| match held {
            Held::Request(context) => {
                context.change(|request| request_fields::set(request, context.choice, &name.as_bytes(), value))
            }
            Held::Response(_) => Err(WRONG.to_owned()),
        })?,
    )?;
    native.raw_set(
        "response_field",
        natives.read(|lua, held, name| match held {
            Held::Response(cell) => cell.with(|response| response_cell::field(lua, response, &name.as_bytes())),
            Held::Request(_) => Err(WRONG.to_owned()),
        })?,
    )?;
    native.raw_set(
        "set_response_field",
        natives.change(|held, name, value| match held {
            Held::Response(cell) => cell.change(|response| response_cell::set_field(response, &name.as_bytes(), value)),
            Held::Request(_) => Err(WRONG.to_owned()),
        })?,
    )?;
    Ok(native)
}

/// Makes the functions.
struct Natives<'a> {
    lua: &'a Lua,
    held: &'a Rc<HeldTable>,
    /// The limit of the state.
    memory: usize,
}

impl Natives<'_> {
    /// A function that reads something of this name.
    fn read(
        &self,
        read: impl Fn(&Lua, &Held, &LuaString) -> Result<Value, String> + 'static,
    ) -> mlua::Result<Function> {
        let (held, memory) = (Rc::clone(self.held), self.memory);
        self.lua.create_function(move |lua, (number, name): (f64, LuaString)| {
            let held = held.get(number).ok_or_else(ended)?;
            without_limit(lua, memory, || read(lua, &held, &name)).map_err(mlua::Error::runtime)
        })
    }

    /// A function that reads everything.
    fn read_all(&self, read: impl Fn(&Lua, &Held) -> Result<Value, String> + 'static) -> mlua::Result<Function> {
        let held = Rc::clone(self.held);
        self.lua.create_function(move |lua, number: f64| {
            let held = held.get(number).ok_or_else(ended)?;
            read(lua, &held).map_err(mlua::Error::runtime)
        })
    }

    /// A function that sets something of this name.
    fn change(
        &self,
        change: impl Fn(&Held, &LuaString, &Value) -> Result<(), String> + 'static,
    ) -> mlua::Result<Function> {
        let held = Rc::clone(self.held);
        self.lua.create_function(move |_, (number, name, value): (f64, LuaString, Value)| {
            let held = held.get(number).ok_or_else(ended)?;
            change(&held, &name, &value).map_err(mlua::Error::runtime)
        })
    }
}

/// Does something that needs little memory without the limit: with it, mlua prepares for a failure at each step, which
/// takes several times as long as the work itself. The memory that this takes counts at the next step of the script.
pub(crate) fn without_limit<T>(lua: &Lua, memory: usize, make: impl FnOnce() -> T) -> T {
    let is_lifted = lua.set_memory_limit(0).is_ok();
    let made = make();
    if is_lifted {
        let restored = lua.set_memory_limit(memory);
        debug_assert!(restored.is_ok());
    }
    made
}

impl Held {
    fn headers<T>(&self, read: impl FnOnce(&Headers) -> Result<T, String>) -> Result<T, String> {
        match self {
            Self::Request(context) => context.with(|request| read(&request.headers)),
            Self::Response(cell) => cell.with(|response| read(&response.headers)),
        }
    }

    fn change_headers(&self, change: impl FnOnce(&mut Headers) -> Result<(), String>) -> Result<(), String> {
        match self {
            Self::Request(context) => context.change(|request| change(&mut request.headers)),
            Self::Response(cell) => cell.change(|response| change(&mut response.headers)),
        }
    }
}

fn found<T>(result: mlua::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn ended() -> mlua::Error {
    mlua::Error::runtime("the request has ended: copy what is needed of it before")
}

const WRONG: &str = "this belongs to something else";
