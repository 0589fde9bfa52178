//! A format of the user's own: text with nginx's variables in it, read once and written often.

use std::sync::Arc;

use serow_message::Served;
use serow_variables::{Piece, Scope, read_pieces};

use super::{
    date::Date,
    variable::{OtherNames, Variable},
};

/// The parts that a line is made of: text and variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: Arc<str>,
    parts: Arc<[Part]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    Variable(Variable),
}

impl Template {
    /// Reads `$name`, `${name}`, and `$$` for a dollar; everything else stands for itself. An error says what to write
    /// instead.
    pub(super) fn read(text: &str, scope: &Scope, others: OtherNames<'_>) -> Result<Self, String> {
        if text.contains(|character: char| character.is_control() && character != '\t') {
            return Err("a line must not have control characters in it: leave them out".to_owned());
        }
        let mut parts = Vec::new();
        for piece in read_pieces(text).map_err(|error| error.to_string())? {
            match piece {
                Piece::Text(text) => push_text(text, &mut parts),
                Piece::Name(name) => {
                    parts.push(Part::Variable(Variable::find(name, scope, others).map_err(|unknown| unknown.0)?));
                }
            }
        }
        Ok(Self { text: text.into(), parts: parts.into() })
    }

    /// As it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a variable needs the response's head.
    pub(super) fn reads_response(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.reads_response()))
    }

    /// Whether a variable needs the attempts on upstream servers.
    pub(super) fn reads_attempts(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.reads_attempts()))
    }

    /// Whether a variable needs what the path of the route matched.
    pub(super) fn reads_captures(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.reads_captures()))
    }

    /// Whether a variable has a value in other places only.
    pub(super) fn lacks_names(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.is_missing()))
    }

    /// Whether there is a variable.
    pub(super) fn has_variables(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(_)))
    }

    /// Whether it comes to something other than nothing and `0`.
    pub(super) fn is_true(&self, served: &Served<'_>, date: &mut Date, room: &mut Vec<u8>) -> bool {
        room.clear();
        for part in &*self.parts {
            let start = room.len();
            match part {
                Part::Text(text) => room.extend_from_slice(text.as_bytes()),
                Part::Variable(variable) => {
                    variable.write(served, date, room);
                    // A variable without a value is empty here, not a dash.
                    if &room[start..] == b"-" {
                        room.truncate(start);
                    }
                }
            }
        }
        !matches!(&room[..], b"" | b"0")
    }

    /// Appends the line of a request.
    pub(super) fn write(&self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        for part in &*self.parts {
            match part {
                Part::Text(text) => line.extend_from_slice(text.as_bytes()),
                Part::Variable(variable) => variable.write(served, date, line),
            }
        }
        line.push(b'\n');
    }
}

/// Adds text to the last part, if that is text.
fn push_text(text: &str, parts: &mut Vec<Part>) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => *before = [before, text].concat().into(),
        _ => parts.push(Part::Text(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serow_message::Scheme;

    use super::*;
    use crate::{
        combined,
        example::{Example, encrypted, in_early_data},
    };

    fn read(template: &str) -> Result<Template, String> {
        Template::read(template, &Scope::default(), OtherNames::Nothing)
    }

    fn line(template: &str, example: &Example) -> String {
        let mut line = Vec::new();
        read(template).unwrap().write(&example.served(), &mut Date::new(), &mut line);
        String::from_utf8(line).unwrap().strip_suffix('\n').unwrap().to_owned()
    }

    fn full() -> Example {
        let mut example = Example::new("[::ffff:10.0.0.1]:4711");
        example.target("/a/b?c=d");
        example.header("Host", b"A.Example:8080");
        example.header("User-Agent", b"curl \"8\"");
        example.header("X-Forwarded-For", b"192.0.2.1");
        example.header("X-Forwarded-For", b"192.0.2.2\xff");
        example.response.append("Cache-Control", "no-cache").unwrap();
        example
    }

    #[test]
    fn every_variable_has_its_value() {
        for (template, expected) in [
            ("$remote_addr $remote_port $remote_user", "10.0.0.1 4711 -"),
            ("$time_local|$time_iso8601|$msec", "06/Nov/1994:08:49:37 +0000|1994-11-06T08:49:37+00:00|784111777.042"),
            ("$request", "GET /a/b?c=d HTTP/1.1"),
            ("$request_method $request_uri $uri $args $query_string", "GET /a/b?c=d /a/b c=d c=d"),
            ("$server_protocol $scheme $host $http_host", "HTTP/1.1 http a.example A.Example:8080"),
            ("$status $body_bytes_sent $bytes_sent", "200 13 133"),
            ("$request_length", "1126"),
            ("$request_time $upstream_response_time", "1.000 -"),
            ("$upstream_addr $upstream_status $upstream_connect_time $upstream_header_time", "- - - -"),
            ("$upstream_cache_status", "-"),
            ("$connection $connection_requests", "7 2"),
            ("$http_user_agent $http_x_forwarded_for", "curl \\x228\\x22 192.0.2.1, 192.0.2.2\\xFF"),
            ("$arg_c $arg_d $is_args $https $cookie_a $document_uri", "d - ? - - /a/b"),
            ("$http_cookie $sent_http_cache_control $sent_http_etag", "- no-cache -"),
            ("$request_completion $http2 $http3 $content_length $content_type", "OK - - - -"),
            ("$server_addr $server_port", "unix: -"),
            ("$ssl_protocol $ssl_cipher $ssl_server_name $ssl_early_data", "- - - -"),
            ("$http2_stream $urgency $incremental $whole", "- - - true"),
            ("${status}00 ${Status} $STATUS", "20000 200 200"),
            ("$$ $$status a$${status}b", "$ $status a${status}b"),
            ("é\t$status%", "é\t200%"),
        ] {
            assert_eq!(line(template, &full()), expected, "{template}");
        }
    }

    #[test]
    fn fields_that_a_script_added_are_logged() {
        let mut example = full();
        example.extensions.insert(serow_message::LogFields(vec![("user".to_owned(), "an \"na\"".to_owned())]));
        assert_eq!(line("$script_user $script_missing", &example), "an \\x22na\\x22 -");
        assert!(read("$script_user").unwrap().reads_response());
    }

    #[test]
    fn the_cache_status_is_logged() {
        let mut example = full();
        example.extensions.insert(serow_message::CacheStatus::Hit { ttl: 3, state: serow_message::HitState::Fresh });
        assert_eq!(line("$upstream_cache_status", &example), "HIT");
        assert!(read("$upstream_cache_status").unwrap().reads_response());
    }

    #[test]
    fn servers_that_were_asked() {
        let mut example = full();
        example.asked_servers();
        assert_eq!(line("$upstream_addr|$upstream_status", &example), "127.0.0.1:9000, unix:/run/a.sock|502, 200");
        assert_eq!(line("$upstream_queue_time", &example), "-, 0.000");
        assert_eq!(line("$upstream_connect_time|$upstream_header_time", &example), "-, 0.000|-, 0.020");
        assert_eq!(line("$upstream_response_time", &example), "0.001, 1.030");
    }

    #[test]
    fn variables_of_tls_and_http2_are_written() {
        let stream = full().on_stream(5, "u=1, i");
        assert_eq!(line("$server_protocol $http2_stream $urgency $incremental", &stream), "HTTP/2.0 5 1 true");
        let tls = "TLSv1.3 TLS_AES_128_GCM_SHA256 a.example https 2001:db8::1 2001:db8::2 443";
        let template = "$ssl_protocol $ssl_cipher $ssl_server_name $scheme $remote_addr $server_addr $server_port";
        assert_eq!(line(template, &encrypted()), tls);
        assert_eq!(line("$ssl_early_data $http3", &encrypted()), "- -");
        assert_eq!(line("$ssl_early_data $http3", &in_early_data()), "1 h3");
        assert_eq!(line("$remote_addr $remote_port $args", &Example::unix()), "unix: - -");
        for (host, expected) in
            [("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("a:", "a"), (":80", "-"), ("", "-"), ("\"", "\\x22")]
        {
            let mut example = Example::unix();
            example.header("Host", host.as_bytes());
            assert_eq!(line("$host", &example), expected, "{host}");
        }
        let template = "$remote_addr $remote_port $realip_remote_addr $realip_remote_port";
        assert_eq!(line(template, &full()), "10.0.0.1 4711 10.0.0.1 4711");
        let behind = Example { client: Some([192, 0, 2, 7].into()), ..full() };
        assert_eq!(line(template, &behind), "192.0.2.7 - 10.0.0.1 4711");
        for (scheme, expected) in [(None, "http -"), (Some(Scheme::Http), "http -"), (Some(Scheme::Https), "https on")]
        {
            let behind = Example { client_scheme: scheme, ..full() };
            assert_eq!(line("$scheme $https", &behind), expected);
        }
        let mut absolute = full();
        absolute.target("http://Other.example:81/x");
        assert_eq!(line("$host $uri $request_uri", &absolute), "other.example /x http://Other.example:81/x");
        absolute.target("/?");
        assert_eq!(line("$uri $args", &absolute), "/ -");
        let mut line = Vec::new();
        let refused = Served { request: None, response: None, ..absolute.served() };
        let template = "$request|$request_method|$uri|$host|$http_a|$sent_http_a|$server_protocol|$remote_user|$args";
        read(template).unwrap().write(&refused, &mut Date::new(), &mut line);
        assert_eq!(line, b"-|-|-|-|-|-|-|-|-\n");
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (template, expected) in [
            ("$remote_adr", "there is no $remote_adr; did you mean $remote_addr?"),
            ("$stauts", "there is no $stauts; did you mean $status?"),
            ("a ${reqest} b", "there is no $reqest; did you mean $request?"),
            ("$gzip_ratio", "there is no $gzip_ratio; docs/logs.md has the names"),
            ("$http_", "there is no $http_; did you mean $http2?"),
            ("$sent_http_Date", "$sent_http_Date is not known to the log, since date is added when all is sent"),
            ("5 $ ", "a $ has no name behind it: write $$ for a dollar"),
            ("$", "a $ has no name behind it: write $$ for a dollar"),
            ("$é", "a $ has no name behind it: write $$ for a dollar"),
            ("${status", "a ${ has no } behind it: write ${name}, or $$ for a dollar"),
            ("$status\n", "a line must not have control characters in it: leave them out"),
        ] {
            assert_eq!(read(template), Err(expected.to_owned()), "{template:?}");
        }
    }

    #[test]
    fn names_and_captures_depend_on_the_site_and_the_route() {
        let expression = "^/(?<id>[0-9]+)/(.*)$".parse().unwrap();
        let scope = Scope::default().of_site("a.example").of_expression(&expression);
        let text = "$server_name $id $2 $1 $kind $pid";
        let template = Template::read(text, &scope, OtherNames::Only(&["kind".to_owned()].into())).unwrap();
        assert!(template.lacks_names() && template.reads_captures() && !read("$status $pid").unwrap().reads_captures());
        let note = serow_message::RouteNote::new();
        note.set_captures(&[b"7", b"\"x\n"]);
        let (example, mut line) = (Example::unix(), Vec::new());
        template.write(&Served { note: Some(&note), ..example.served() }, &mut Date::new(), &mut line);
        template.write(&example.served(), &mut Date::new(), &mut line);
        let pid = std::process::id();
        let expected = format!("a.example 7 \\x22x\\x0A 7 - {pid}\na.example - - - - {pid}\n");
        assert_eq!(String::from_utf8(line).unwrap(), expected);
        let told = Template::read("$3", &scope, OtherNames::Nothing).unwrap_err();
        assert_eq!(told, "$3 is not there: the path of the route has 2 stars or groups; write $$ for a dollar");
        let told = Template::read("$ide", &scope, OtherNames::Nothing).unwrap_err();
        assert_eq!(told, "there is no $ide; did you mean $id?");
    }

    #[test]
    fn the_response_is_kept_only_for_those_who_read_it() {
        assert!(!read("$status $http_x").unwrap().reads_response());
        assert!(read("$status $sent_http_x").unwrap().reads_response());
    }

    proptest! {
        /// The format with a name is nothing but a quicker way to the same line.
        #[test]
        fn combined_can_be_written_as_a_template(agent: Vec<u8>, user: String) {
            let mut example = full();
            let _ = example.request.headers.append("Referer", &agent);
            let _ = example.request.headers.append("Authorization", user);
            let mut quick = Vec::new();
            combined::write(&example.served(), &mut Date::new(), &mut quick);
            let template = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
                            \"$http_referer\" \"$http_user_agent\"";
            prop_assert_eq!(line(template, &example).into_bytes(), quick.strip_suffix(b"\n").unwrap());
        }

        /// No text makes it panic, and what it takes gives one line.
        #[test]
        fn any_text(template: String) {
            if let Ok(known) = read(&template) {
                let mut line = Vec::new();
                known.write(&full().served(), &mut Date::new(), &mut line);
                prop_assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
                prop_assert_eq!(known.text(), template);
            }
        }
    }
}
