//! An admin endpoint that cannot be made.

use serow_message::Address;

use crate::{SettingError, options::AdminOptions, values::AdminSocket};

/// Refuses a token that no port needs.
///
/// # Errors
///
/// The remedy.
pub fn admin(options: &AdminOptions) -> Result<(), SettingError> {
    if options.admin_token_file.is_none() {
        return Ok(());
    }
    let refuse = |text: String| Err(SettingError::new("admin-token-file", text));
    match options.admin.as_ref().and_then(AdminSocket::address) {
        None => refuse("`admin-token-file` needs `admin`: write a port there, as in 127.0.0.1:9901".to_owned()),
        Some(Address::Tcp(_)) => Ok(()),
        Some(address) => refuse(format!("`admin-token-file` is for a port: {address} needs no token, leave it out")),
    }
}
