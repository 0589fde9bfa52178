//! Variables that scripts get in addition to those of the request.

use std::collections::BTreeMap;

use serow_document::{Place, Problem, Problems};
use serow_variables::{Scope, Text};

/// Finds out what a table of variables means; notes what means nothing. A folder of scripts decides itself which script runs.
pub(crate) fn cgi_variables(
    table: &BTreeMap<String, String>,
    of_folder: bool,
    scope: &Scope,
    place: &Place,
    problems: &Problems,
) -> Option<Vec<(String, Text)>> {
    let mut found = Vec::new();
    for (name, value) in table {
        let text = match refusal(name, value, of_folder) {
            Some(text) => Err(text),
            None => Text::parse(value, scope).map_err(|error| error.to_string()),
        };
        match text {
            Ok(text) => found.push((name.clone(), text)),
            Err(text) => problems.add(Problem::of_value(place.key(name), text)),
        }
    }
    (found.len() == table.len()).then_some(found)
}

/// Why a variable cannot be set.
fn refusal(name: &str, value: &str, of_folder: bool) -> Option<String> {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = name.bytes().next().is_some_and(is_first)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Some(format!("{name:?} is not the name of a variable: write letters, digits and _"));
    }
    let instead = match name {
        // Clients must not choose the program.
        "SCRIPT_FILENAME" if !of_folder && value.replace("$$", "").contains('$') => {
            "is the path of one program, without variables: write a route for each, or a folder of `php` or `cgi`"
        }
        "SCRIPT_FILENAME" | "SCRIPT_NAME" | "PATH_INFO" | "DOCUMENT_ROOT" if !of_folder => return None,
        "SCRIPT_FILENAME" | "SCRIPT_NAME" | "PATH_INFO" | "PATH_TRANSLATED" => {
            "follows from the path of the request: write `root`, `index`, `front-controller` or `root-in-php` of `php`"
        }
        "DOCUMENT_ROOT" => "is the folder of the scripts: write `root`, or `root-in-php`, of `php`",
        "PHP_VALUE" | "PHP_ADMIN_VALUE" => {
            "changes settings of PHP: write php_value[…] or php_admin_value[…] in the pool of php-fpm"
        }
        "REQUEST_METHOD" | "CONTENT_LENGTH" | "CONTENT_TYPE" => "is that of the request: leave it out",
        _ if name.starts_with("HTTP_") => "is a header field of the request: write `request-headers` of the route",
        _ => return None,
    };
    Some(format!("{name} {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_the_server_decides_are_refused_with_the_right_setting() {
        for (name, expected) in [
            ("APP_ENV", None),
            ("modHeadersAvailable", None),
            ("_1", None),
            ("SERVER_NAME", None),
            ("HTTPS", None),
            ("", Some("is not the name of a variable")),
            ("1A", Some("is not the name of a variable")),
            ("A-B", Some("is not the name of a variable")),
            ("A=B", Some("is not the name of a variable")),
            ("SCRIPT_FILENAME", Some("`front-controller`")),
            ("PATH_INFO", Some("`front-controller`")),
            ("DOCUMENT_ROOT", Some("`root`")),
            ("PHP_VALUE", Some("php_value[")),
            ("PHP_ADMIN_VALUE", Some("php_admin_value[")),
            ("CONTENT_LENGTH", Some("leave it out")),
            ("HTTP_PROXY", Some("`request-headers`")),
        ] {
            let found = refusal(name, "", true);
            match expected {
                None => assert_eq!(found, None),
                Some(part) => assert!(found.as_ref().is_some_and(|text| text.contains(part)), "{name}: {found:?}"),
            }
        }
    }
    #[test]
    fn a_program_without_a_folder_has_the_variables_of_its_script() {
        for name in ["SCRIPT_FILENAME", "SCRIPT_NAME", "PATH_INFO", "DOCUMENT_ROOT"] {
            assert_eq!(refusal(name, "/srv/a$$.cgi", false), None, "{name}");
        }
        assert_eq!(refusal("SCRIPT_NAME", "$uri", false), None);
        assert!(refusal("SCRIPT_FILENAME", "/srv$uri", false).is_some_and(|text| text.contains("one program")));
        assert!(refusal("PATH_TRANSLATED", "/a", false).is_some());
    }
}
