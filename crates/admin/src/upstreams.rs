//! `GET /upstreams`: the servers of all upstreams, one after the other, in the formats of Tengine's `check_status`.

mod page;
mod tengine;

use serde_json::Value;

pub(super) use self::tengine::label;

/// A query for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inquiry {
    format: Format,
    /// Only those that are up, or only the others.
    up: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Csv,
    Json,
    Prometheus,
}

/// A server as it is listed.
struct Listed<'a> {
    /// Its place among all that there are.
    index: usize,
    upstream: &'a str,
    name: &'a str,
    up: bool,
    /// Good and bad checks in a row.
    rise: u64,
    fall: u64,
    /// The kind of its checks; `none` without checks.
    kind: &'a str,
    /// The port that was set for checks; 0 where none was.
    port: u64,
    /// All that is known.
    all: &'a Value,
}

impl Inquiry {
    /// Reads the query of a request; what is wrong with one that asks for what there is not.
    pub(super) fn read(query: Option<&str>) -> Result<Self, &'static str> {
        let mut inquiry = Self { format: Format::Html, up: None };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("format", "html") => inquiry.format = Format::Html,
                ("format", "csv") => inquiry.format = Format::Csv,
                ("format", "json") => inquiry.format = Format::Json,
                ("format", "prometheus") => inquiry.format = Format::Prometheus,
                ("format", _) => return Err("format is one of html, csv, json and prometheus"),
                ("status", "up") => inquiry.up = Some(true),
                ("status", "down") => inquiry.up = Some(false),
                ("status", _) => return Err("status is up or down"),
                _ => {}
            }
        }
        Ok(inquiry)
    }

    /// The media type of the answer, and the answer, where this is the status of a server.
    pub(super) fn answer(self, status: &Value) -> (&'static str, String) {
        let all = listed(status);
        let generation = all_upstreams(status).filter_map(|upstream| upstream["generation"].as_u64()).sum();
        let all: Vec<_> = all.into_iter().filter(|server| self.up.is_none_or(|up| server.up == up)).collect();
        match self.format {
            Format::Html => ("text/html; charset=utf-8", page::text(&all)),
            Format::Csv => ("text/plain; charset=utf-8", tengine::csv(&all)),
            Format::Json => ("application/json", tengine::json(&all, generation)),
            Format::Prometheus => ("text/plain; charset=utf-8", tengine::prometheus(&all, generation)),
        }
    }
}

fn all_upstreams(status: &Value) -> impl Iterator<Item = &Value> {
    status["upstreams"].as_array().into_iter().flatten()
}

fn listed(status: &Value) -> Vec<Listed<'_>> {
    let servers = all_upstreams(status).flat_map(|upstream| {
        let servers = upstream["servers"].as_array().into_iter().flatten();
        servers.map(|server| (upstream["name"].as_str().unwrap_or_default(), server))
    });
    let listed = servers.enumerate().map(|(index, (upstream, server))| {
        let check = &server["check"];
        Listed {
            index,
            upstream,
            name: server["name"].as_str().unwrap_or_default(),
            up: server["state"] == "up",
            rise: check["rise"].as_u64().unwrap_or(0),
            fall: check["fall"].as_u64().unwrap_or(0),
            kind: check["kind"].as_str().unwrap_or("none"),
            port: check["port"].as_u64().unwrap_or(0),
            all: server,
        }
    });
    listed.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status() -> Value {
        let server = |name: &str, state: &str, check: Value| json!({ "name": name, "state": state, "check": check });
        let check = json!({ "kind": "http", "port": 81, "rise": 58, "fall": 0 });
        let failed = json!({ "kind": "tcp", "port": null, "rise": 0, "fall": 3 });
        json!({ "upstreams": [
            { "name": "app", "generation": 2, "servers": [
                server("192.0.2.1:80", "up", check),
                server("unix:/run/\"<a>.sock", "down", failed),
            ] },
            { "name": "other", "generation": 1, "servers": [server("192.0.2.2:80", "up", Value::Null)] },
        ] })
    }

    fn answer(query: &str) -> String {
        Inquiry::read(Some(query)).unwrap().answer(&status()).1
    }

    #[test]
    fn servers_are_listed_as_csv() {
        let expected = "0,app,192.0.2.1:80,up,58,0,http,81\n\
                        1,app,unix:/run/\"<a>.sock,down,0,3,tcp,0\n\
                        2,other,192.0.2.2:80,up,0,0,none,0\n";
        assert_eq!(answer("format=csv"), expected);
        assert_eq!(answer("format=csv&status=down"), "1,app,unix:/run/\"<a>.sock,down,0,3,tcp,0\n");
    }

    #[test]
    fn servers_are_listed_as_json_of_tengine() {
        let text = answer("format=json&status=up");
        let expected = r#"{"servers": {
  "total": 2,
  "up": 2,
  "down": 0,
  "generation": 3,
  "server": [
    {"index": 0, "upstream": "app", "name": "192.0.2.1:80", "status": "up", "rise": 58, "fall": 0, "type": "http", "port": 81},
    {"index": 2, "upstream": "other", "name": "192.0.2.2:80", "status": "up", "rise": 0, "fall": 0, "type": "none", "port": 0}
  ]
}}
"#;
        assert_eq!(text, expected);
        let read: Value = serde_json::from_str(&answer("format=json")).unwrap();
        assert_eq!(read["servers"]["server"][1]["name"], "unix:/run/\"<a>.sock");
        let none: Value =
            serde_json::from_str(&Inquiry::read(Some("format=json")).unwrap().answer(&json!({})).1).unwrap();
        assert_eq!(none["servers"]["total"], 0);
    }

    #[test]
    fn servers_are_listed_for_prometheus() {
        let text = answer("format=prometheus");
        for line in [
            "nginx_upstream_count_total 3",
            "nginx_upstream_count_up 2",
            "nginx_upstream_count_down 1",
            "nginx_upstream_count_generation 3",
            "# TYPE nginx_upstream_server_rise counter",
            r#"nginx_upstream_server_rise{index="0",upstream="app",name="192.0.2.1:80",status="up",type="http",port="81"} 58"#,
            r#"nginx_upstream_server_fall{index="1",upstream="app",name="unix:/run/\"<a>.sock",status="down",type="tcp",port="0"} 3"#,
            "# TYPE nginx_upstream_server_active gauge",
            r#"nginx_upstream_server_active{index="2",upstream="other",name="192.0.2.2:80",type="none",port="0"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_page_lists_servers_with_escaped_names() {
        let text = answer("");
        assert!(text.contains("unix:/run/&quot;&lt;a&gt;.sock") && !text.contains("<a>"), "{text}");
        assert!(!answer("status=up").contains("a&gt;.sock"));
    }

    #[test]
    fn unknown_formats_and_states_are_refused() {
        for query in ["format=xml", "format", "status=maybe", "format=csv&status="] {
            assert!(Inquiry::read(Some(query)).is_err(), "{query}");
        }
        assert_eq!(Inquiry::read(Some("x=1&&")), Inquiry::read(None));
    }
}
