//! The value that the function `request` returns: nothing, or a response.

use mlua::{Table, Value};
use serow_gateway::error_page;
use serow_message::{Headers, KnownHeader, Response};

use crate::lua::{
    header_rules,
    response_cell::{body_text, final_status},
    value_kind::kind,
};

/// The response that a function returned; `None` if the request goes on.
///
/// # Errors
///
/// Says why the value cannot be a response.
pub(crate) fn of(value: &Value, request: &Headers) -> Result<Option<Response>, String> {
    match value {
        Value::Nil | Value::Boolean(false) => Ok(None),
        Value::Integer(_) | Value::Number(_) => Ok(Some(error_page(final_status(value)?, request))),
        Value::Table(table) => of_table(table).map(Some),
        other => Err(format!(
            "`request` returned {}: return nothing to go on, a status as in 403, or a table as in {{ status = 302, \
             headers = {{ location = \"/\" }} }}",
            kind(other)
        )),
    }
}

fn of_table(table: &Table) -> Result<Response, String> {
    let (mut status, mut fields, mut body) = (Value::Nil, Value::Nil, Value::Nil);
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let name = key.to_string().unwrap_or_default();
        match &*name {
            "status" => status = value,
            "headers" => fields = value,
            "body" => body = value,
            _ => return Err(format!("{name:?} is not a part of a response: there are status, headers and body")),
        }
    }
    let status = if status.is_nil() { serow_message::StatusCode::OK } else { final_status(&status)? };
    let mut response = Response::new(status);
    match fields {
        Value::Nil => {}
        Value::Table(fields) => header_rules::fill(&mut response.headers, &fields)?,
        other => return Err(format!("the headers of a response are a table, not {}", kind(&other))),
    }
    match body {
        Value::Nil => {}
        value => {
            let text = body_text(&value, status)?;
            if !response.headers.contains(KnownHeader::ContentType) {
                let added = response.headers.append(KnownHeader::ContentType, "text/plain; charset=utf-8");
                debug_assert!(added.is_ok(), "{added:?}");
            }
            response.body = text.into();
        }
    }
    Ok(response)
}
