//! Key files of BIND: `key "serow" { algorithm hmac-sha256; secret "c2VjcmV0"; };`.

use std::{error::Error, fmt, str::FromStr};

use data_encoding::BASE64;

use super::{TsigAlgorithm, TsigKey};

/// Why a text is not a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileError {
    /// It is not the form of BIND.
    Syntax,
    /// It has more than one key.
    SeveralKeys,
    /// This client does not have the algorithm.
    Algorithm,
    /// The name of the key is invalid.
    Name,
    /// The secret is not base64, or empty.
    Secret,
}

impl FromStr for TsigKey {
    type Err = KeyFileError;

    fn from_str(text: &str) -> Result<Self, KeyFileError> {
        let words = words(text)?;
        let mut words = words.iter().map(String::as_str);
        let mut word = || words.next().ok_or(KeyFileError::Syntax);
        let (kind, name, open) = (word()?, word()?, word()?);
        if (kind, open) != ("key", "{") {
            return Err(KeyFileError::Syntax);
        }
        let (mut algorithm, mut secret) = (None, None);
        loop {
            let setting = match word()? {
                "algorithm" => &mut algorithm,
                "secret" => &mut secret,
                "}" => break,
                _ => return Err(KeyFileError::Syntax),
            };
            let value = word()?;
            if word()? != ";" || setting.replace(value).is_some() {
                return Err(KeyFileError::Syntax);
            }
        }
        match (words.next(), words.next()) {
            (Some(";"), None) => {}
            (Some(";"), Some("key")) => return Err(KeyFileError::SeveralKeys),
            _ => return Err(KeyFileError::Syntax),
        }
        let (algorithm, secret) = algorithm.zip(secret).ok_or(KeyFileError::Syntax)?;
        let algorithm: TsigAlgorithm = algorithm.parse().map_err(|()| KeyFileError::Algorithm)?;
        let secret = BASE64.decode(secret.as_bytes()).ok().filter(|secret| !secret.is_empty());
        Self::new(name, algorithm, &secret.ok_or(KeyFileError::Secret)?).map_err(|_| KeyFileError::Name)
    }
}

/// Words, quoted strings, and the signs between them; without comments, of which BIND has three forms.
fn words(text: &str) -> Result<Vec<String>, KeyFileError> {
    let (mut words, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.split_once('"').map(|(word, after)| (Some(word), after)).ok_or(KeyFileError::Syntax)?
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, after)| (None, after)).ok_or(KeyFileError::Syntax)?
        } else if rest.starts_with("//") || first == '#' {
            (None, rest.split_once('\n').map_or("", |(_, after)| after))
        } else {
            let is_sign = |char: char| matches!(char, '{' | '}' | ';');
            let is_end = |char: char| is_sign(char) || char.is_whitespace() || matches!(char, '"' | '#');
            let end = if is_sign(first) { 1 } else { rest.find(is_end).unwrap_or(rest.len()) };
            let (word, after) = rest.split_at(end);
            (Some(word), after)
        };
        words.extend(word.map(str::to_owned));
        rest = after.trim_start();
    }
    Ok(words)
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => formatter.write_str(
                "this is not a key file: write it with `tsig-keygen NAME`, or as in key \"serow\" { algorithm \
                 hmac-sha256; secret \"…\"; };",
            ),
            Self::SeveralKeys => formatter.write_str("this file has several keys: leave one"),
            Self::Algorithm => write!(
                formatter,
                "the algorithm of this key is not {}: write another key with `tsig-keygen -a hmac-sha256 NAME`",
                TsigAlgorithm::NAMES
            ),
            Self::Name => formatter.write_str("the name of this key is not valid: letters, digits, dots and hyphens"),
            Self::Secret => {
                formatter.write_str("the secret of this key is not base64: copy it as `tsig-keygen` shows it")
            }
        }
    }
}

impl Error for KeyFileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_files_are_parsed_or_refused() {
        let generated = "key \"Serow.Example\" {\n\talgorithm hmac-sha256;\n\tsecret \"c2VjcmV0\";\n};\n";
        let commented = "# a\n// b\n/* key { */key serow{secret c2VjcmV0;# end\nalgorithm HMAC-SHA512.;};//";
        let slashes = "key a { algorithm hmac-sha384; secret ab//; };";
        for (text, name, algorithm) in [
            (generated, "serow.example", TsigAlgorithm::HmacSha256),
            (commented, "serow", TsigAlgorithm::HmacSha512),
            (slashes, "a", TsigAlgorithm::HmacSha384),
        ] {
            let key: TsigKey = text.parse().unwrap();
            assert_eq!((key.name(), key.algorithm), (name, algorithm));
            assert!(!format!("{key:?}").contains("c2VjcmV0"), "{key:?}");
        }
        for (text, expected) in [
            ("", KeyFileError::Syntax),
            ("c2VjcmV0", KeyFileError::Syntax),
            ("key a { algorithm hmac-sha256; };", KeyFileError::Syntax),
            ("key a { algorithm hmac-sha256; secret \"c2VjcmV0\"; }", KeyFileError::Syntax),
            ("key a { algorithm hmac-sha256; secret \"c2VjcmV0; };", KeyFileError::Syntax),
            ("key a { algorithm hmac-sha256; secret \"c2VjcmV0\"; secret \"YQ==\"; };", KeyFileError::Syntax),
            ("/* key a", KeyFileError::Syntax),
            ("zone a { algorithm hmac-sha256; secret \"c2VjcmV0\"; };", KeyFileError::Syntax),
            (&generated.repeat(2), KeyFileError::SeveralKeys),
            ("key a { algorithm hmac-md5; secret \"c2VjcmV0\"; };", KeyFileError::Algorithm),
            ("key a { algorithm hmac-sha256; secret \"*\"; };", KeyFileError::Secret),
            ("key a { algorithm hmac-sha256; secret \"\"; };", KeyFileError::Secret),
            ("key \"a..b\" { algorithm hmac-sha256; secret \"c2VjcmV0\"; };", KeyFileError::Name),
        ] {
            assert_eq!(text.parse::<TsigKey>().err(), Some(expected), "{text}");
        }
    }
}
