//! A request as scripts see it.

use std::rc::Rc;

use mlua::{Lua, LuaString, Table, UserData, UserDataFields, UserDataMethods, Value};
use serow_message::{
    Connection, KnownHeader, Method, Peer, Priority, Request, Scheme, Target, TargetForm, authority, percent,
};

use crate::{
    context::Context,
    header_rules,
    headers_value::{self, HeadersValue},
    library::Functions,
};

/// A request as scripts see it.
pub(crate) struct RequestValue(Rc<Context>);

impl RequestValue {
    pub(crate) fn new(context: Rc<Context>) -> Self {
        Self(context)
    }

    pub(crate) fn context(&self) -> &Rc<Context> {
        &self.0
    }
}

impl UserData for RequestValue {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("headers", |_, this| Ok(HeadersValue::Request(Rc::clone(&this.0))));
        fields.add_field_method_get("method", |lua, this| {
            this.0.with(|request| lua.create_string(request.method.as_str()))
        });
        fields.add_field_method_set("method", |_, this, text: LuaString| {
            this.0.change(|request| set_method(request, &text.as_bytes()).map_err(mlua::Error::runtime))
        });
        fields.add_field_method_get("path", |lua, this| this.0.with(|request| path(lua, &request.target)));
        fields.add_field_method_set("path", |_, this, text: LuaString| {
            this.0.change(|request| set_path(request, &text.as_bytes()).map_err(mlua::Error::runtime))
        });
        fields.add_field_method_get("query", |lua, this| {
            this.0.with(|request| request.target.query().map(|query| lua.create_string(query)).transpose())
        });
        fields.add_field_method_set("query", |_, this, text: LuaString| {
            this.0.change(|request| set_query(request, &text.as_bytes()).map_err(mlua::Error::runtime))
        });
        fields.add_field_method_get("target", |lua, this| {
            this.0.with(|request| lua.create_string(request.target.to_bytes()))
        });
        fields.add_field_method_get("host", |lua, this| {
            this.0.with(|request| request.host().map(|host| lua.create_string(host.to_ascii_lowercase())).transpose())
        });
        fields.add_field_method_set("host", |_, this, text: LuaString| {
            this.0.change(|request| set_host(request, &text.as_bytes()).map_err(mlua::Error::runtime))
        });
        fields.add_field_method_get("client", |lua, this| {
            this.0.with(|request| match this.0.trusted.client(&request.headers, request.connection()) {
                Peer::Tcp(address) => lua.create_string(address.ip().to_canonical().to_string()).map(Some),
                Peer::Unix => Ok(None),
            })
        });
        fields.add_field_method_get("scheme", |lua, this| {
            this.0.with(|request| match this.0.trusted.client_scheme(&request.headers, request.connection()) {
                Scheme::Http => lua.create_string("http"),
                Scheme::Https => lua.create_string("https"),
            })
        });
        fields.add_field_method_get("cookies", |lua, this| this.0.with(|request| cookies(lua, request)));
        fields.add_field_method_get("arguments", |lua, this| this.0.with(|request| arguments(lua, &request.target)));
        fields.add_field_method_get("tls", |lua, this| this.0.with(|request| tls(lua, request.connection())));
        fields.add_field_method_get("priority", |lua, this| {
            this.0.with(|request| priority(lua, Priority::of_fields(&request.headers).unwrap_or_default()))
        });
        fields.add_field_method_get("notes", |lua, this| this.0.notes(|| lua.create_table()));
        fields.add_field_method_get("body", |lua, _| Functions::of(lua, |functions| functions.body.clone()));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("header_values", |lua, this, name: LuaString| {
            this.0.with(|request| headers_value::values(lua, &request.headers, &name))
        });
        methods.add_method("all_headers", |lua, this, ()| {
            this.0.with(|request| headers_value::all(lua, &request.headers))
        });
        methods.add_method("add_header", |_, this, (name, value): (LuaString, Value)| {
            this.0.change(|request| {
                header_rules::add(&mut request.headers, &header_rules::name(&name), &value)
                    .map_err(mlua::Error::runtime)
            })
        });
    }
}

/// The path as routes see it: decoded, without what only evades rules. Nothing if no route could take it.
fn path(lua: &Lua, target: &Target) -> mlua::Result<Option<LuaString>> {
    serow_router::clean_path_of(target).map(|path| lua.create_string(&*path)).transpose()
}

fn set_path(request: &mut Request, path: &[u8]) -> Result<(), String> {
    let wrong = || format!("{:?} is not a path: write one that begins with /", String::from_utf8_lossy(path));
    if !path.starts_with(b"/") || path.contains(&0) {
        return Err(wrong());
    }
    let mut encoded = Vec::with_capacity(path.len());
    percent::encode_path(path, &mut encoded);
    request.target = request.target.with_path(&encoded).map_err(|_| wrong())?;
    Ok(())
}

fn set_query(request: &mut Request, query: &[u8]) -> Result<(), String> {
    let wrong = || format!("{:?} is not a query: encode it, as in \"a=b%20c\"", String::from_utf8_lossy(query));
    let query = std::str::from_utf8(query).map_err(|_| wrong())?;
    request.target = request.target.with_query(query).map_err(|_| wrong())?;
    Ok(())
}

fn set_method(request: &mut Request, method: &[u8]) -> Result<(), String> {
    let wrong = || format!("{:?} is not a method that a script can set", String::from_utf8_lossy(method));
    let method = Method::from_bytes(method).map_err(|_| wrong())?;
    // What is sent after CONNECT is no body, and the target of both is of another form.
    if method == Method::CONNECT || request.method == Method::CONNECT {
        return Err(wrong());
    }
    request.method = method;
    Ok(())
}

fn set_host(request: &mut Request, host: &[u8]) -> Result<(), String> {
    let wrong = || format!("{:?} is not a host", String::from_utf8_lossy(host));
    if host.is_empty() || !authority::is_valid(host) {
        return Err(wrong());
    }
    if request.target.form() == TargetForm::Absolute {
        request.target = request.target.clone().into_origin_form(request.method == Method::OPTIONS);
    }
    request.headers.replace(KnownHeader::Host, host).map_err(|_| wrong())
}

/// The cookies by their names; the first of a name counts, as clients send the most specific one first (RFC 6265 §5.4).
fn cookies(lua: &Lua, request: &Request) -> mlua::Result<Table> {
    let cookies = lua.create_table()?;
    for value in request.headers.get_all(KnownHeader::Cookie) {
        for pair in value.split(|byte| *byte == b';') {
            let pair = pair.trim_ascii();
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) = (lua.create_string(&pair[..equals])?, &pair[equals + 1..]);
            if !cookies.contains_key(&name)? {
                let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
                cookies.raw_set(name, lua.create_string(value)?)?;
            }
        }
    }
    Ok(cookies)
}

/// The arguments of the query, decoded; of several with a name, the first.
fn arguments(lua: &Lua, target: &Target) -> mlua::Result<Table> {
    let arguments = lua.create_table()?;
    let query = target.query().unwrap_or_default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = lua.create_string(decoded(name))?;
        if !arguments.contains_key(&name)? {
            arguments.raw_set(name, lua.create_string(decoded(value))?)?;
        }
    }
    Ok(arguments)
}

/// Text of a form, decoded; what is no encoding stays as it is.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let spaces = text.replace('+', " ");
    let decoded: Result<Vec<_>, _> =
        percent::decode(spaces.as_bytes()).map(|octet| octet.map(percent::Octet::byte)).collect();
    decoded.unwrap_or_else(|_| spaces.into_bytes())
}

fn tls(lua: &Lua, connection: &Connection) -> mlua::Result<Option<Table>> {
    let Some(encryption) = connection.encryption() else { return Ok(None) };
    let tls = lua.create_table()?;
    tls.raw_set("version", encryption.version)?;
    tls.raw_set("cipher", encryption.cipher_suite)?;
    tls.raw_set("server_name", encryption.server_name.as_deref())?;
    tls.raw_set(
        "client_certificate",
        encryption.client_certificate.as_deref().map(|der| lua.create_string(der)).transpose()?,
    )?;
    Ok(Some(tls))
}

fn priority(lua: &Lua, priority: Priority) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("urgency", priority.urgency)?;
    table.raw_set("incremental", priority.incremental)?;
    Ok(table)
}
