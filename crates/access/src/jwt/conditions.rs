//! Conditions that the claims of a token must meet.

use serde_json::Value;

use crate::jwt::claims::Claims;

/// Conditions that the claims of a token must meet: each path with the values of which one must be there; by default,
/// there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(pub Vec<(String, Vec<String>)>);

impl Conditions {
    /// Whether all are met. A claim that is an array, or a text with spaces as `scope` has them (RFC 8693 §4.2), meets a
    /// condition by one element.
    #[must_use]
    pub fn are_met(&self, claims: &Claims) -> bool {
        self.are_met_where(claims, |_| true)
    }

    /// Whether all about claims of which this holds are met; the others are not looked at.
    pub fn are_met_where(&self, claims: &Claims, is_known: impl Fn(&str) -> bool) -> bool {
        let is_met = |(path, values): &(String, Vec<String>)| {
            claims.find(path).is_some_and(|claim| values.iter().any(|value| contains(claim, value)))
        };
        self.0.iter().filter(|(path, _)| is_known(path)).all(is_met)
    }
}

fn contains(claim: &Value, value: &str) -> bool {
    match claim {
        Value::String(text) => text == value || text.split(' ').any(|element| element == value),
        Value::Bool(is_so) => value == if *is_so { "true" } else { "false" },
        Value::Number(number) => number.to_string() == value,
        Value::Array(elements) => elements.iter().any(|element| !element.is_array() && is_equal(element, value)),
        Value::Null | Value::Object(_) => false,
    }
}

/// Elements of arrays have no spaces that separate them.
fn is_equal(element: &Value, value: &str) -> bool {
    match element {
        Value::String(text) => text == value,
        other => contains(other, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::strict_json::parse_object;

    #[test]
    fn conditions_are_met_by_equal_values_and_by_elements() {
        let text = r#"{"role": "admin", "scope": "read write", "roles": ["ops dev", "qa", 7, true, ["in"]], "level": 3,
            "verified": true, "realm_access": {"roles": ["ops"]}, "empty": "", "none": null}"#;
        let claims = Claims::new(parse_object(text.as_bytes()).unwrap());
        for (path, values, expected) in [
            ("role", &["admin"][..], true),
            ("role", &["Admin"], false),
            ("role", &["user", "admin"], true),
            ("role", &[], false),
            ("scope", &["write"], true),
            ("scope", &["read write"], true),
            ("scope", &["rea"], false),
            ("scope", &["read", "admin"], true),
            ("roles", &["qa"], true),
            ("roles", &["ops"], false),
            ("roles", &["7"], true),
            ("roles", &["true"], true),
            ("roles", &["in"], false),
            ("level", &["3"], true),
            ("verified", &["true"], true),
            ("verified", &["false"], false),
            ("realm_access.roles", &["ops"], true),
            ("none", &["null"], false),
            ("none", &[""], false),
            ("missing", &[""], false),
            ("realm_access", &["roles"], false),
        ] {
            let values = values.iter().map(ToString::to_string).collect();
            let conditions = Conditions(vec![(path.to_owned(), values)]);
            assert_eq!(conditions.are_met(&claims), expected, "{path}");
        }
        let both = [("role", "admin"), ("level", "4")].map(|(path, value)| (path.to_owned(), vec![value.to_owned()]));
        assert!(!Conditions(both.to_vec()).are_met(&claims));
        assert!(Conditions::default().are_met(&claims));
    }
}
