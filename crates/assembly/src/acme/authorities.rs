//! The authorities that issue automatic certificates, and the accounts that exist there.

use std::{fs, path::Path, sync::Arc};

use data_encoding::{BASE64URL_NOPAD, Encoding};
use serow_acme::{Authority, ExternalAccount};
use serow_config::{SettingError, options::AcmeOptions};

/// The second authority. Profile and chain are the first one's: another authority has others.
pub(super) fn fallback(options: &AcmeOptions) -> Result<Option<Authority>, SettingError> {
    let Some(directory) = &options.fallback else { return Ok(None) };
    check_readable("acme-fallback-ca", options.fallback_ca.as_deref())?;
    let (id, key) = (options.fallback_eab_kid.as_ref(), options.fallback_eab_key_file.as_deref());
    Ok(Some(Authority {
        ca_file: options.fallback_ca.clone(),
        email: options.email.clone(),
        external_account: external_account("acme-fallback-eab-key-file", id, key)?,
        ..Authority::new(directory.url())
    }))
}

/// Fails if there is such a file, and it cannot be read.
pub(super) fn check_readable(key: &'static str, file: Option<&Path>) -> Result<(), SettingError> {
    let Some(file) = file else { return Ok(()) };
    let refuse = |error| SettingError::new(key, format!("`{key}`: {}: {error}", file.display()));
    fs::File::open(file).map(drop).map_err(refuse)
}

/// The account that exists at an authority; the file of its key is the option with this name.
pub(super) fn external_account(
    file_key: &'static str,
    id: Option<&String>,
    file: Option<&Path>,
) -> Result<Option<ExternalAccount>, SettingError> {
    let (Some(id), Some(file)) = (id, file) else { return Ok(None) };
    let refuse = |problem: String| SettingError::new(file_key, format!("`{file_key}`: {}: {problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    let text = text.trim().trim_end_matches('=');
    let encodings: [&Encoding; 2] = [&BASE64URL_NOPAD, &data_encoding::BASE64_NOPAD];
    let key = encodings.into_iter().find_map(|encoding| encoding.decode(text.as_bytes()).ok());
    let key = key.filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| refuse("this is not base64url: copy the key as the authority shows it".to_owned()))?;
    Ok(Some(ExternalAccount { id: id.clone(), key: Arc::from(key) }))
}
