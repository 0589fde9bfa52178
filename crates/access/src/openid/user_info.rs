//! A provider's claims about a user beside the ID token (OpenID Connect Core §5.3.2).

use crate::jwt::Claims;
use serde_json::{Map, Value};

use crate::openid::{settings::LoginSettings, token_response::UserClaims};

/// The claims of an ID token, and those that are wanted and only in this response, which has to be about the same user.
pub(crate) fn complete(response: &[u8], token: &Claims, settings: &LoginSettings) -> Result<UserClaims, &'static str> {
    let response = about(response, token.find("sub").and_then(Value::as_str))?;
    let mut claims = Map::new();
    let mut from_user_info = Vec::new();
    for name in OF_TOKEN {
        claims.extend(token.find(name).map(|value| (name.to_owned(), value.clone())));
    }
    for name in settings.wanted_claims().filter(|name| !OF_TOKEN.contains(name)) {
        // The signed claim takes precedence. A path is found as a name with dots as well.
        let value = token.find(name).or_else(|| {
            from_user_info.push(name.to_owned());
            response.find(name)
        });
        claims.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    from_user_info.sort_unstable();
    from_user_info.dedup();
    Ok(UserClaims::Whole { claims: Claims::new(claims), from_user_info })
}

/// The wanted claims of this response where there is no ID token. It has to be about this user.
pub(crate) fn alone(response: &[u8], subject: &str, settings: &LoginSettings) -> Result<UserClaims, &'static str> {
    let response = about(response, Some(subject))?;
    let wanted = settings.wanted_claims().filter(|name| !OF_TOKEN.contains(name));
    let mut claims: Map<_, _> =
        wanted.filter_map(|name| Some((name.to_owned(), response.find(name)?.clone()))).collect();
    claims.insert("sub".to_owned(), subject.into());
    Ok(UserClaims::OfUserInfo(Claims::new(claims)))
}

fn about(response: &[u8], subject: Option<&str>) -> Result<Claims, &'static str> {
    let response: Map<String, Value> =
        serde_json::from_slice(response).map_err(|_| "the claims about the user are not valid JSON")?;
    let response = Claims::new(response);
    // §5.3.2: otherwise they are not to be used.
    match subject.is_some() && response.find("sub").and_then(Value::as_str) == subject {
        true => Ok(response),
        false => Err("the claims are about another user"),
    }
}

/// Claims that are taken from the token only.
const OF_TOKEN: [&str; 4] = ["sub", "nonce", "aud", "azp"];

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use crate::jwt::Conditions;
    use serde_json::json;

    use super::*;

    fn claims(value: &Value) -> Claims {
        Claims::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn missing_claims_are_added_if_they_are_about_the_same_user() {
        let settings = LoginSettings {
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            scopes: Vec::new(),
            callback: String::new(),
            logout: String::new(),
            after_logout: None,
            session: Duration::ZERO,
            user_claim: "email".to_owned(),
            conditions: Conditions(vec![("realm.roles".to_owned(), Vec::new())]),
            fields: vec![(Arc::from("X-Name"), "name".to_owned()), (Arc::from("X-Nonce"), "nonce".to_owned())],
            ca: None,
        };
        let token = claims(&json!({"sub": "1", "nonce": "n", "aud": "serow", "name": "signed", "other": 1}));
        let response = json!({"sub": "1", "email": "a@b.example", "name": "unsigned", "nonce": "evil", "azp": "evil",
            "realm": {"roles": ["staff"]}, "picture": "…"});
        let found = complete(response.to_string().as_bytes(), &token, &settings).unwrap();
        let UserClaims::Whole { claims: found, from_user_info } = found else { panic!("{found:?}") };
        assert_eq!(from_user_info, ["email", "realm.roles"]);
        let expected = json!({"sub": "1", "nonce": "n", "aud": "serow", "email": "a@b.example", "name": "signed",
            "realm.roles": ["staff"]});
        assert_eq!(found, claims(&expected));
        assert_eq!(found.text("realm.roles").as_deref(), Some("staff"));
        for response in [json!({"sub": "2"}), json!({"email": "a"}), json!({"sub": null}), json!([]), json!("sub")] {
            assert!(complete(response.to_string().as_bytes(), &token, &settings).is_err(), "{response}");
            assert!(alone(response.to_string().as_bytes(), "1", &settings).is_err(), "{response}");
        }
        let UserClaims::OfUserInfo(found) = alone(response.to_string().as_bytes(), "1", &settings).unwrap() else {
            panic!("there is no ID token")
        };
        let expected = json!({"sub": "1", "email": "a@b.example", "name": "unsigned", "realm.roles": ["staff"]});
        assert_eq!(found, claims(&expected));
    }
}
