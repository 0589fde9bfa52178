//! The fields of a request as scripts see them.

use mlua::{Lua, Table, Value};
use serow_message::{
    Connection, KnownHeader, Method, Peer, Priority, Request, Scheme, Target, TargetForm, TrustedProxies, authority,
    percent,
};

use crate::{ChosenRoute, RouteChoice, lua::value_kind::kind};

/// A field of a request.
///
/// # Errors
///
/// There is no such field.
pub(crate) fn get(lua: &Lua, request: &Request, trusted: &TrustedProxies, name: &[u8]) -> Result<Value, String> {
    let text = |bytes: &[u8]| lua.create_string(bytes).map(Value::String);
    let value = match name {
        b"method" => text(request.method.as_str().as_bytes()),
        b"path" => {
            serow_variables::clean_path::clean_path_of(&request.target).map_or(Ok(Value::Nil), |path| text(&path))
        }
        b"query" => request.target.query().map_or(Ok(Value::Nil), |query| text(query.as_bytes())),
        b"target" => text(&request.target.to_bytes()),
        b"host" => request.host().map_or(Ok(Value::Nil), |host| text(host.to_ascii_lowercase().as_bytes())),
        b"client" => match trusted.client(&request.headers, request.connection()) {
            Peer::Tcp(address) => text(address.ip().to_canonical().to_string().as_bytes()),
            Peer::Unix => Ok(Value::Nil),
        },
        b"scheme" => match trusted.client_scheme(&request.headers, request.connection()) {
            Scheme::Http => text(b"http"),
            Scheme::Https => text(b"https"),
        },
        b"cookies" => cookies(lua, request).map(Value::Table),
        b"arguments" => arguments(lua, &request.target).map(Value::Table),
        b"tls" => tls(lua, request.connection()),
        b"route" => {
            let chosen = request.extensions.get::<ChosenRoute>();
            chosen.map_or(Ok(Value::Nil), |ChosenRoute(name)| text(name.as_bytes()))
        }
        b"priority" => priority(lua, Priority::of_fields(&request.headers).unwrap_or_default()).map(Value::Table),
        _ => return Err(unknown(name)),
    };
    value.map_err(|error| error.to_string())
}

/// Sets a field of a request.
///
/// # Errors
///
/// Says why the name or the value is wrong.
pub(crate) fn set(request: &mut Request, choice: RouteChoice, name: &[u8], value: &Value) -> Result<(), String> {
    let Value::String(text) = value else {
        return Err(format!("{} is text, not {}", name.escape_ascii(), kind(value)));
    };
    let text = &*text.as_bytes();
    match name {
        b"method" => set_method(request, text),
        b"path" => set_path(request, text),
        b"query" => set_query(request, text),
        b"host" => set_host(request, text),
        b"route" => set_route(request, choice, text),
        b"target" | b"client" | b"scheme" | b"cookies" | b"arguments" | b"tls" | b"priority" | b"body" => {
            Err(format!("{} cannot be set: method, path, query, host, route and headers can", name.escape_ascii()))
        }
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &[u8]) -> String {
    format!(
        "a request has no {}: there are method, path, query, arguments, target, host, client, scheme, headers, cookies, \
         tls, priority, route, notes and body; what belongs to the script goes into notes",
        name.escape_ascii()
    )
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
    // The bytes after CONNECT are not a body, and its target has another form.
    if method == Method::CONNECT || request.method == Method::CONNECT {
        return Err(wrong());
    }
    request.method = method;
    Ok(())
}

fn set_route(request: &mut Request, choice: RouteChoice, name: &[u8]) -> Result<(), String> {
    if choice == RouteChoice::Made {
        return Err(
            "no route can be chosen here: the script is in a route, or there are no routes; write it into the \
                    [[site]], or at the root of the settings file"
                .to_owned(),
        );
    }
    let name = str::from_utf8(name).map_err(|_| format!("{} is not the name of a route", name.escape_ascii()))?;
    request.extensions.insert(ChosenRoute(name.into()));
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

/// Text of a form, decoded; what is not encoded stays as it is.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let spaces = text.replace('+', " ");
    let decoded: Result<Vec<_>, _> =
        percent::decode(spaces.as_bytes()).map(|octet| octet.map(percent::Octet::byte)).collect();
    decoded.unwrap_or_else(|_| spaces.into_bytes())
}

fn tls(lua: &Lua, connection: &Connection) -> mlua::Result<Value> {
    let Some(encryption) = connection.encryption() else { return Ok(Value::Nil) };
    let tls = lua.create_table()?;
    tls.raw_set("version", encryption.version)?;
    tls.raw_set("cipher", encryption.cipher_suite)?;
    tls.raw_set("server_name", encryption.server_name.as_deref())?;
    if let Some(der) = &encryption.client_certificate {
        tls.raw_set("client_certificate", lua.create_string(&**der)?)?;
    }
    Ok(Value::Table(tls))
}

fn priority(lua: &Lua, priority: Priority) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("urgency", priority.urgency)?;
    table.raw_set("incremental", priority.incremental)?;
    Ok(table)
}
