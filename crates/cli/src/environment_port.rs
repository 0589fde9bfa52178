//! The variable `PORT`, by which hosting platforms say where a program has to listen.

use std::{env, ffi::OsStr, net::Ipv6Addr};

use serow_config::{options::GeneralOptions, values::ListenRule};
use serow_net::{Address, inheritance};

use crate::command_error::CommandError;

/// Listens on the port in the environment, on all addresses: platforms connect from another machine.
///
/// `--listen`, inherited sockets and automatic certificates, which need ports 80 and 443, take precedence.
///
/// # Errors
///
/// The variable is not a port.
pub(crate) fn listen_there(options: &mut GeneralOptions) -> Result<(), CommandError> {
    let is_decided = !options.listening.listen.is_empty()
        || !options.acme.names.is_empty()
        || options.acme.on_demand.is_some()
        || !inheritance::addresses().is_empty();
    if is_decided {
        return Ok(());
    }
    if let Some(port) = port(env::var_os(VARIABLE).as_deref())? {
        let address = Address::Tcp((Ipv6Addr::UNSPECIFIED, port).into());
        options.listening.listen = vec![ListenRule { address, tls: None }];
    }
    Ok(())
}

/// The port that the variable names, if it is set and not empty.
fn port(value: Option<&OsStr>) -> Result<Option<u16>, CommandError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.to_str().map(str::trim).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match text.and_then(|text| text.parse().ok()) {
        Some(port) => Ok(Some(port)),
        None => Err(CommandError::Usage(format!(
            "the environment has {VARIABLE}={value:?}, which is not a port: set it to a number up to 65535, or write --listen, \
             which takes precedence"
        ))),
    }
}

const VARIABLE: &str = "PORT";

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    use super::*;

    #[test]
    fn ports_of_the_environment_are_read() {
        for (value, expected) in [
            (None, None),
            (Some(""), None),
            (Some("8080"), Some(8080)),
            (Some("0"), Some(0)),
            (Some(" 80\n"), Some(80)),
        ] {
            assert_eq!(port(value.map(OsStr::new)).unwrap(), expected, "{value:?}");
        }
    }

    #[test]
    fn values_that_are_not_ports_are_refused_with_the_remedy() {
        let invalid = ["65536", "-1", "+1", "http", "127.0.0.1:80", " ", "8080\n90"].map(OsString::from);
        for value in invalid.into_iter().chain([OsString::from_vec(vec![0xff])]) {
            let error = port(Some(&value)).unwrap_err().message();
            assert!(error.starts_with("the environment has PORT=\"") && error.contains("--listen"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
