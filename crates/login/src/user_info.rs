//! What a provider says about a user beside the ID token (OpenID Connect Core §5.3.2).

use serde_json::{Map, Value};
use serow_jwt::Claims;

use crate::settings::LoginSettings;

/// The claims of an ID token, and those that are wanted and only in this response, which has to be about the same user.
pub(crate) fn read(response: &[u8], token: &Claims, settings: &LoginSettings) -> Result<Claims, &'static str> {
    let response: Map<String, Value> =
        serde_json::from_slice(response).map_err(|_| "the claims about the user are not valid JSON")?;
    let response = Claims::new(response);
    // §5.3.2: otherwise they are not to be used.
    if response.find("sub").is_none() || response.find("sub") != token.find("sub") {
        return Err("the claims are about another user");
    }
    let mut claims = Map::new();
    for name in OF_TOKEN {
        claims.extend(token.find(name).map(|value| (name.to_owned(), value.clone())));
    }
    for name in settings.wanted_claims().filter(|name| !OF_TOKEN.contains(name)) {
        // What is signed takes precedence. A path is found as a name with dots as well.
        let value = token.find(name).or_else(|| response.find(name));
        claims.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    Ok(Claims::new(claims))
}

/// What only the token says.
const OF_TOKEN: [&str; 4] = ["sub", "nonce", "aud", "azp"];

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::json;
    use serow_jwt::Conditions;

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
        let found = read(response.to_string().as_bytes(), &token, &settings).unwrap();
        let expected = json!({"sub": "1", "nonce": "n", "aud": "serow", "email": "a@b.example", "name": "signed",
            "realm.roles": ["staff"]});
        assert_eq!(found, claims(&expected));
        assert_eq!(found.text("realm.roles").as_deref(), Some("staff"));
        for response in [json!({"sub": "2"}), json!({"email": "a"}), json!({"sub": null}), json!([]), json!("sub")] {
            assert!(read(response.to_string().as_bytes(), &token, &settings).is_err(), "{response}");
        }
    }
}
