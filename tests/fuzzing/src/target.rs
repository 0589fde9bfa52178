//! The parts of a request target are slices of it, put together they give it again.

use bytes::Bytes;
use serow_message::{Target, TargetForm};

/// The target.
pub fn target(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    let connect = first == b'!';
    let Ok(target) = Target::parse(Bytes::copy_from_slice(text), connect) else { return };
    assert_eq!(target.as_str().as_bytes(), text);
    assert_eq!(target.to_bytes(), text);
    assert_eq!(connect, target.form() == TargetForm::Authority);
    assert!(!text.iter().any(|byte| byte.is_ascii_control() || matches!(byte, b' ' | b'#')), "no such byte passes");
    let query = target.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = target.path();
    match target.form() {
        TargetForm::Origin => {
            assert!(path.starts_with('/'));
            assert_eq!(target.authority(), None);
            assert_eq!(format!("{path}{query}"), target.as_str());
        }
        TargetForm::Absolute => {
            let authority = target.authority().expect("an absolute form has an authority");
            assert!(path.starts_with('/'));
            assert!(!authority.is_empty() && !authority.contains(['/', '?', '@']));
            let (scheme, rest) = target.as_str().split_once("://").expect("and a scheme");
            assert!(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"));
            let written = [format!("{authority}{path}{query}"), format!("{authority}{query}")];
            assert!(written.contains(&rest.to_owned()), "{rest} is not {written:?}");
        }
        TargetForm::Authority => {
            assert_eq!(target.authority(), Some(target.as_str()));
            assert_eq!((path, target.query()), ("", None));
        }
        TargetForm::Asterisk => assert_eq!((path, target.query(), target.authority()), ("*", None, None)),
    }
    assert_eq!(Target::parse(target.to_bytes(), connect).as_ref(), Ok(&target));
}
