//! Tokens in queries, which lines do not show.

use serow_message::{KnownHeader, RequestHead, Target};

/// The names of arguments whose values are tokens; by default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretArguments(pub Vec<Box<str>>);

impl SecretArguments {
    /// A request without its tokens: in its target, and in the address of the page that it came from. Nothing if it has
    /// none.
    pub(crate) fn redacted(&self, request: Option<&RequestHead>) -> Option<RequestHead> {
        let request = request.filter(|_| !self.0.is_empty())?;
        let target = self.without_values(request.target.as_str());
        let referer = request.headers.get(KnownHeader::Referer).and_then(|referer| std::str::from_utf8(referer).ok());
        let referer = referer.and_then(|referer| self.without_values(referer));
        if target.is_none() && referer.is_none() {
            return None;
        }
        let mut request = request.clone();
        if let Some(target) = target {
            // Shorter than the one that was received, which was right.
            request.target = Target::parse(target.into(), false).ok()?;
        }
        if let Some(referer) = referer {
            request.headers.insert(KnownHeader::Referer, referer).ok()?;
        }
        Some(request)
    }

    /// A URL with stars in the place of values; nothing if it has none of the arguments.
    fn without_values(&self, url: &str) -> Option<String> {
        let (before, query) = url.split_once('?')?;
        let is_secret = |argument: &str| {
            argument
                .split_once('=')
                .is_some_and(|(name, _)| self.0.iter().any(|secret| name.eq_ignore_ascii_case(secret)))
        };
        if !query.split('&').any(is_secret) {
            return None;
        }
        let shown = query.split('&').map(|argument| match argument.split_once('=') {
            Some((name, _)) if is_secret(argument) => format!("{name}=***"),
            _ => argument.to_owned(),
        });
        Some(format!("{before}?{}", shown.collect::<Vec<_>>().join("&")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;

    #[test]
    fn values_of_secret_arguments_are_replaced() {
        let secrets = SecretArguments(vec!["access_token".into(), "t".into()]);
        for (url, expected) in [
            ("/", None),
            ("/?a=b", None),
            ("/?t", None),
            ("/t=1?x=t", None),
            ("/?t=a.b.c", Some("/?t=***")),
            ("/?a=1&access_token=x&T=y&tt=z", Some("/?a=1&access_token=***&T=***&tt=z")),
            ("http://a.example/?t=1", Some("http://a.example/?t=***")),
        ] {
            assert_eq!(secrets.without_values(url).as_deref(), expected, "{url}");
        }
        let mut example = Example::new("127.0.0.1:4711");
        example.target("/a?t=secret");
        example.header("Referer", b"https://a.example/?access_token=secret&x=1");
        let served = example.served();
        let redacted = secrets.redacted(served.request).unwrap();
        assert_eq!(redacted.target.as_str(), "/a?t=***");
        let referer = redacted.headers.get(KnownHeader::Referer);
        assert_eq!(referer, Some(&b"https://a.example/?access_token=***&x=1"[..]));
        assert!(SecretArguments::default().redacted(served.request).is_none());
    }
}
