//! Conversions into a response.

use bytes::Bytes;
use serow_message::{Body, BodyKind, Response, StatusCode};

/// Status, content type and content.
fn told(response: impl Into<Response>) -> (u16, Option<String>, Vec<u8>) {
    let response = response.into();
    let kind = response.headers.get_str("content-type").map(str::to_owned);
    let content = match response.body.into_kind() {
        BodyKind::Empty => Vec::new(),
        BodyKind::Bytes(bytes) => bytes.to_vec(),
        _ => panic!("it is not there"),
    };
    (response.status.as_u16(), kind, content)
}

#[test]
fn each_has_its_status_its_type_and_its_content() {
    let text = Some("text/plain; charset=utf-8".to_owned());
    let bytes = Some("application/octet-stream".to_owned());
    assert_eq!(told(()), (200, None, vec![]));
    assert_eq!(told("a"), (200, text.clone(), b"a".to_vec()));
    assert_eq!(told("a".to_owned()), (200, text.clone(), b"a".to_vec()));
    assert_eq!(told(b"a".to_vec()), (200, bytes.clone(), b"a".to_vec()));
    assert_eq!(told(Bytes::from_static(b"a")), (200, bytes, b"a".to_vec()));
    assert_eq!(told(Body::from("a")), (200, None, b"a".to_vec()));
    assert_eq!(told(StatusCode::NOT_FOUND), (404, text.clone(), b"404 Not Found\n".to_vec()));
    assert_eq!(told((StatusCode::CREATED, "a")), (201, text.clone(), b"a".to_vec()));
    let good: Result<_, StatusCode> = Ok("a");
    let bad: Result<&str, _> = Err((StatusCode::BAD_REQUEST, "b".to_owned()));
    assert_eq!(told(good), (200, text.clone(), b"a".to_vec()));
    assert_eq!(told(bad), (400, text, b"b".to_vec()));
}

#[test]
fn fields_of_untrusted_text_are_errors_and_no_panics() {
    let response = Response::from("a").try_with("x-a", "1").unwrap();
    assert_eq!(response.headers.get("x-a"), Some(&b"1"[..]));
    assert!(Response::from("a").try_with("x-a", "1\r\nx-b: 2").is_err());
    assert!(Response::from("a").try_with("x a", "1").is_err());
}

#[cfg(feature = "json")]
#[test]
fn json() {
    use std::collections::HashMap;

    use serow_message::Json;

    let kind = Some("application/json".to_owned());
    assert_eq!(told(Json([1, 2])), (200, kind.clone(), b"[1,2]".to_vec()));
    assert_eq!(told((StatusCode::CREATED, Json("a"))), (201, kind, b"\"a\"".to_vec()));
    let unwritable = HashMap::from([((1, 2), 3)]);
    assert_eq!(told(Json(unwritable)).0, 500);
}
