//! Which other sites may use the responses of a site or route.

use serow_config::tables::policies::CorsTable;
use serow_document::{Place, Problem};
use serow_files::Pattern;
use serow_site::Cors;

/// The policy that a table `cors` at a place describes.
pub(super) fn of(table: &CorsTable, place: &Place) -> Result<Cors, Problem> {
    let origins = place.key("origins");
    if table.origins.is_empty() {
        return Err(Problem::of_value(origins, "there is no origin: name one, or leave `cors` out"));
    }
    if let Some(number) = table.origins.iter().position(|origin| !is_origin(origin)) {
        let text = format!(
            "{:?} is not an origin: write scheme, host and, unless it is the usual one, port, as in \
             \"https://a.example\", or \"*\" for all",
            table.origins[number]
        );
        return Err(Problem::of_value(origins.element(number), text));
    }
    let any_origin = table.origins.iter().any(|origin| origin == "*");
    if any_origin && table.credentials {
        let text = "`credentials` with all origins lets any site act as the user: name the origins";
        return Err(Problem::of_key(place.key("credentials"), text));
    }
    Ok(Cors {
        origins: table.origins.iter().map(|origin| Pattern::new(&origin.to_ascii_lowercase())).collect(),
        any_origin,
        methods: tokens(table.methods.as_ref(), &place.key("methods"))?,
        headers: tokens(table.headers.as_ref(), &place.key("headers"))?,
        expose: tokens(table.expose.as_ref(), &place.key("expose"))?,
        credentials: table.credentials,
        max_age: table.max_age.map(|span| span.0.as_secs()),
    })
}

/// Scheme, host and port (RFC 6454 §6.2), perhaps with stars in the host.
fn is_origin(text: &str) -> bool {
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*:[]".contains(&byte);
    text == "*"
        || text.split_once("://").is_some_and(|(scheme, host)| {
            !scheme.is_empty()
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
                && !host.is_empty()
                && host.bytes().all(is_host)
        })
}

/// Names of methods or fields as the list of a header field.
fn tokens(names: Option<&Vec<String>>, place: &Place) -> Result<Option<String>, Problem> {
    let Some(names) = names else { return Ok(None) };
    match names.iter().position(|name| name.is_empty() || !name.bytes().all(serow::is_token_byte)) {
        Some(number) => {
            let text = format!("{:?} is not a name: write it as in \"X-Total\" or \"PUT\"", names[number]);
            Err(Problem::of_value(place.element(number), text))
        }
        None => Ok(Some(names.join(", "))),
    }
}
