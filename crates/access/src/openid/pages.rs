//! Pages for browsers, and what is common to all replies.

/// A reply to a browser or a program, without a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The fields.
    pub fields: Vec<(&'static str, String)>,
    /// The body, in HTML; without one, that of the site for the status.
    pub body: String,
}

impl Reply {
    /// A redirect. Neither caches nor the next server learn of the URL, which may have a code in it.
    pub(crate) fn redirect(location: String) -> Self {
        // 303: whatever the method was, the next one is GET.
        let mut reply = Self::new(303, String::new());
        reply.fields.push(("location", location));
        reply
    }

    /// Only a status, whose page the site has.
    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, String::new())
    }

    /// A page with a heading, a text and a link.
    pub(crate) fn page(status: u16, heading: &str, text: &str, link: Option<(&str, &str)>) -> Self {
        let link = link.map(|(path, name)| format!("<p><a href=\"{}\">{}</a></p>\n", escaped(path), escaped(name)));
        let (heading, link) = (escaped(heading), link.unwrap_or_default());
        Self::html(status, &heading, &format!("<p>{}</p>\n{link}", escaped(text)))
    }

    /// A page with a button that sends a form to this path.
    pub(crate) fn form(heading: &str, path: &str, button: &str) -> Self {
        let (path, button) = (escaped(path), escaped(button));
        Self::html(
            200,
            &escaped(heading),
            &format!("<form method=\"post\" action=\"{path}\"><button>{button}</button></form>\n"),
        )
    }

    /// With this field.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    /// With these cookies.
    pub(crate) fn with_cookies(mut self, cookies: impl IntoIterator<Item = String>) -> Self {
        self.fields.extend(cookies.into_iter().map(|cookie| ("set-cookie", cookie)));
        self
    }

    fn html(status: u16, heading: &str, content: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{heading}</title>\n<style>body{{font:1.1em/1.5 system-ui,sans-serif;\
             margin:15vh auto;max-width:32em;padding:0 1em;color-scheme:light dark}}</style>\n<h1>{heading}</h1>\n\
             {content}</html>\n"
        );
        let mut reply = Self::new(status, body);
        reply.fields.push(("content-type", "text/html; charset=utf-8".to_owned()));
        reply.fields.push(("content-security-policy", POLICY.to_owned()));
        reply
    }

    fn new(status: u16, body: String) -> Self {
        let fields =
            [("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff")];
        Self { status, fields: fields.map(|(name, value)| (name, value.to_owned())).to_vec(), body }
    }
}

fn escaped(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            '"' => output.push_str("&quot;"),
            '\'' => output.push_str("&#39;"),
            one => output.push(one),
        }
    }
    output
}

/// No `form-action`: Chromium applies it to the redirect to the provider as well.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_markup() {
        let reply = Reply::page(400, "<b>", "a & b", Some(("/\"><script>", "'again'")));
        assert!(!reply.body.contains("<b>") && !reply.body.contains("<script>"), "{}", reply.body);
        assert!(reply.body.contains("a &amp; b") && reply.body.contains("&quot;&gt;&lt;script&gt;"));
        assert!(reply.fields.contains(&("cache-control", "no-store".to_owned())));
    }
}
