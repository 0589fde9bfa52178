use super::{super::tests::settings, *};

async fn answer(status: u16, fields: &[(&'static str, &str)], body: usize) -> Answer {
    let mut response = Response::new(StatusCode::from_u16(status).unwrap());
    fields.iter().for_each(|(name, value)| response.headers.append(*name, value).unwrap());
    response.body = vec![b'x'; body].into();
    read(response, &settings()).await
}

#[tokio::test]
async fn only_2xx_lets_requests_through_and_only_refusals_reach_clients() {
    let location: &[(&str, &str)] = &[("location", "https://auth.example/?rd=x"), ("set-cookie", "s=1")];
    for (status, fields, expected) in [
        (200, &[][..], "passed"),
        (204, &[], "passed"),
        (202, location, "passed"),
        (401, &[("www-authenticate", "Basic")], "refused"),
        (401, location, "refused"),
        (403, &[], "refused"),
        (302, location, "refused"),
        (303, location, "refused"),
        (307, location, "refused"),
        (302, &[], "error"),
        (300, location, "error"),
        (304, location, "error"),
        (101, &[], "error"),
        (400, &[], "error"),
        (404, location, "error"),
        (407, &[], "error"),
        (429, &[], "error"),
        (500, &[], "error"),
        (503, location, "error"),
    ] {
        let found = match answer(status, fields, 3).await {
            Answer::Passed(..) => "passed",
            Answer::Refused(response) => {
                assert_eq!((response.status.as_u16(), response.body.length()), (status, Some(3)));
                for (name, value) in fields {
                    assert_eq!(response.headers.get_str(*name), Some(*value), "{status} {name}");
                }
                "refused"
            }
            Answer::Error(..) => "error",
        };
        assert_eq!(found, expected, "{status} {fields:?}");
    }
}

#[tokio::test]
async fn errors_of_the_proxy_keep_their_reason() {
    let page = serow_gateway::error_page(ErrorReason::NoServer, &Headers::new());
    let Answer::Error(reason, _) = read(page, &settings()).await else { panic!("not an error") };
    assert_eq!(reason, ErrorReason::NoServer);
}

#[tokio::test]
async fn fields_are_copied_and_one_of_them_names_the_user() {
    let fields = &[
        ("remote-user", "alice"),
        ("Remote-Groups", "a"),
        ("remote-groups", "b"),
        ("Remote-Email", "not@copied"),
        ("Set-Cookie", "s=1"),
    ];
    let Answer::Passed(identity, _) = answer(200, fields, 0).await else { panic!("not passed") };
    assert_eq!(identity.user, Some(User("alice".into())));
    let fields = |fields: Vec<(Arc<str>, Bytes)>| {
        let text = fields.iter().map(|(name, value)| format!("{name}: {}", value.escape_ascii()));
        text.collect::<Vec<_>>()
    };
    assert_eq!(fields(identity.request_fields), ["Remote-User: alice", "Remote-Groups: a", "Remote-Groups: b"]);
    assert_eq!(fields(identity.response_fields), ["Set-Cookie: s=1"]);
}

#[tokio::test]
async fn a_user_who_is_not_clear_or_fields_that_are_too_long_let_nobody_in() {
    let long = "x".repeat(MAX_COPIED);
    for (fields, expected) in [
        (&[("remote-user", "")][..], None),
        (&[("remote-user", "alice")], None),
        (&[("remote-user", "alice"), ("remote-user", "admin")], Some("several users")),
        (&[("remote-groups", &long)], Some("too long")),
        (&[("x-other", &long)], None),
        (&[("set-cookie", &long)], Some("too long")),
    ] {
        match (answer(200, fields, 0).await, expected) {
            (Answer::Passed(..), None) => {}
            (Answer::Error(_, text), Some(expected)) if text.contains(expected) => {}
            (answer, _) => panic!("{expected:?}: {answer:?}"),
        }
    }
}

#[tokio::test]
async fn bodies_of_refusals_are_limited_and_fields_for_the_server_removed() {
    assert!(matches!(answer(401, &[], MAX_BODY).await, Answer::Refused(_)));
    assert!(matches!(answer(401, &[], MAX_BODY + 1).await, Answer::Error(..)));
    let Answer::Refused(response) = answer(403, &[("X-Accel-Redirect", "/secret")], 0).await else { panic!() };
    assert!(response.headers.is_empty());
}
