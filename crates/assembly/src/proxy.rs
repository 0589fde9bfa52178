//! How requests are handed to other servers.

use serow_config::{
    SettingError,
    options::{ForwardedChoice, ForwardingOptions, LoggingOptions},
    values::{Field, HostRule},
};
use serow_proxy::{
    BufferSettings, FieldNames, Forwarded, ForwardedFields, ForwardingSettings, ForwardingTimeouts, HostSetting,
    InternalRedirects, ResponseBuffering,
};
use serow_router::HeaderChanges;
use serow_variables::{Scope, Text};

/// Whether there is an access log with the attempts on upstream servers.
pub fn reads_attempts(options: &LoggingOptions) -> bool {
    !options.access_log.0.is_empty() && options.access_log_format.0.reads_attempts()
}

/// How requests are changed on their way.
///
/// # Errors
///
/// Fields that cannot be set, and unknown variables in them.
pub fn forwarding_settings(options: ForwardingOptions, scope: &Scope) -> Result<ForwardingSettings, SettingError> {
    let ForwardingOptions {
        host,
        strip_prefix,
        add_prefix,
        forwarded,
        accel_redirect,
        trust,
        underscores_in_headers,
        set_header,
        set_response_header,
        buffer_requests,
        buffer_responses,
        response_timeout,
        transfer_timeout,
        total_timeout,
    } = options;
    let [response, transfer, total] =
        [response_timeout, transfer_timeout, total_timeout].map(|span| span.map(|span| span.0));
    let timeouts = ForwardingTimeouts { response, transfer, total };
    let trusted = trust.into_iter().flatten().map(|network| network.0).collect();
    let fields = match forwarded {
        ForwardedChoice::X => ForwardedFields::X,
        ForwardedChoice::Standard => ForwardedFields::Standard,
        ForwardedChoice::Both => ForwardedFields::Both,
        ForwardedChoice::Off => ForwardedFields::Off,
    };
    let internal_redirects = match accel_redirect {
        Some(true) => InternalRedirects::Follow,
        Some(false) | None => InternalRedirects::Ignore,
    };
    if let Some(number) = set_header.iter().position(|field| field.name.eq_ignore_ascii_case("host")) {
        let text = "`set-header` cannot set Host: use `host`";
        return Err(SettingError::new("set-header", text).of_element(number));
    }
    let (request_texts, set_header) = texts_to_set("set-header", set_header, scope)?;
    Ok(ForwardingSettings {
        request_texts,
        host: match host {
            HostRule::Keep => HostSetting::Keep,
            HostRule::Server => HostSetting::Server,
            HostRule::Fixed(name) => HostSetting::Fixed(name),
        },
        strip_prefix: strip_prefix.map(|prefix| prefix.0),
        add_prefix: add_prefix.map(|prefix| prefix.0),
        forwarded: Forwarded { fields, trusted },
        field_names: field_names(underscores_in_headers),
        request_headers: fields_to_set("set-header", set_header)?,
        response_headers: fields_to_set("set-response-header", set_response_header)?,
        internal_redirects,
        buffering: buffer_requests.then(BufferSettings::default),
        response_buffering: if buffer_responses.is_on() {
            ResponseBuffering::default()
        } else {
            ResponseBuffering::OFF
        },
        timeouts: (timeouts != ForwardingTimeouts::default()).then_some(timeouts),
        ..ForwardingSettings::default()
    })
}

/// Which names fields of requests may have.
pub(super) fn field_names(underscores_in_headers: bool) -> FieldNames {
    if underscores_in_headers { FieldNames::Any } else { FieldNames::Unambiguous }
}

/// A field and the text with variables that it is set to.
type FieldText = (String, Text);

/// Fields that are set to texts with variables, and the others, in which `$$` is a dollar, too.
fn texts_to_set(
    key: &'static str,
    fields: Vec<Field>,
    scope: &Scope,
) -> Result<(Vec<FieldText>, Vec<Field>), SettingError> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for (name, text) in header_texts(key, &fields, scope)? {
        match text.constant() {
            Some(value) => others.push(Field { value: value.to_owned(), name }),
            None => texts.push((name, text)),
        }
    }
    Ok((texts, others))
}

/// Fields that may be set, with the texts that they are set to.
pub(crate) fn header_texts(key: &'static str, fields: &[Field], scope: &Scope) -> Result<Vec<FieldText>, SettingError> {
    let text = |(number, Field { name, value }): (usize, &Field)| {
        let before = fields.iter().take(number).map(|field| (&field.name, &field.value));
        HeaderChanges::with_variables(before.chain([(name, value)]), scope)
            .map_err(|error| SettingError::new(key, format!("`{key}`: {error}")).of_element(number))?;
        // It was parsed a line above.
        Ok((name.clone(), Text::parse(value, scope).unwrap_or_default()))
    };
    fields.iter().enumerate().map(text).collect()
}

/// Fields that may be set.
fn fields_to_set(key: &'static str, fields: Vec<Field>) -> Result<Vec<(String, String)>, SettingError> {
    for (number, Field { name, value }) in fields.iter().enumerate() {
        let others = fields.iter().take(number).map(|field| (&field.name, &field.value));
        HeaderChanges::new(others.chain([(name, value)]))
            .map_err(|error| SettingError::new(key, format!("`{key}`: {error}")).of_element(number))?;
    }
    Ok(fields.into_iter().map(|Field { name, value }| (name, value)).collect())
}
