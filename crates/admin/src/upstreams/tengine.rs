//! The formats of Tengine's `check_status`, byte by byte, so that what reads those reads these.

use std::fmt::Write;

use serde_json::Value;

use super::Listed;

/// A line for each server.
pub(super) fn csv(servers: &[Listed<'_>]) -> String {
    let lines = servers.iter().map(|server| {
        let Listed { index, upstream, name, rise, fall, kind, port, .. } = server;
        format!("{index},{upstream},{name},{},{rise},{fall},{kind},{port}\n", word(server))
    });
    lines.collect()
}

/// An object, with a line for each server.
pub(super) fn json(servers: &[Listed<'_>], generation: u64) -> String {
    let lines = servers.iter().map(|server| {
        let Listed { index, rise, fall, port, .. } = server;
        let [upstream, name, kind] = [server.upstream, server.name, server.kind].map(Value::from);
        let status = word(server);
        format!(
            "    {{\"index\": {index}, \"upstream\": {upstream}, \"name\": {name}, \"status\": \"{status}\", \
             \"rise\": {rise}, \"fall\": {fall}, \"type\": {kind}, \"port\": {port}}}"
        )
    });
    let lines: Vec<_> = lines.collect();
    let (total, up, down) = totals(servers);
    format!(
        "{{\"servers\": {{\n  \"total\": {total},\n  \"up\": {up},\n  \"down\": {down},\n  \"generation\": {generation},\n  \
         \"server\": [\n{}\n  ]\n}}}}\n",
        lines.join(",\n")
    )
}

/// Metrics by the names that Tengine's have.
pub(super) fn prometheus(servers: &[Listed<'_>], generation: u64) -> String {
    let mut text = String::new();
    let (total, up, down) = totals(servers);
    for (name, explanation, number) in [
        ("total", "Servers.", total),
        ("up", "Servers that are up.", up),
        ("down", "Servers that are down.", down),
        ("generation", "Changes of the servers.", generation),
    ] {
        head(&mut text, &format!("count_{name}"), "gauge", explanation);
        // Writing to memory does not fail.
        let _ = writeln!(text, "nginx_upstream_count_{name} {number}");
    }
    type Number = fn(&Listed<'_>) -> u64;
    let metrics: [(&str, &str, &str, Number); 3] = [
        ("rise", "counter", "Good checks in a row.", |server| server.rise),
        ("fall", "counter", "Failed checks in a row.", |server| server.fall),
        ("active", "gauge", "Whether the server is up.", |server| u64::from(server.up)),
    ];
    for (name, kind, explanation, number) in metrics {
        head(&mut text, &format!("server_{name}"), kind, explanation);
        for server in servers {
            let Listed { index, port, .. } = server;
            let [upstream, server_name, check] = [server.upstream, server.name, server.kind].map(label);
            let status = if name == "active" { String::new() } else { format!("status=\"{}\",", word(server)) };
            let _ = writeln!(
                text,
                "nginx_upstream_server_{name}{{index=\"{index}\",upstream=\"{upstream}\",name=\"{server_name}\",{status}\
                 type=\"{check}\",port=\"{port}\"}} {}",
                number(server)
            );
        }
    }
    text
}

fn head(text: &mut String, name: &str, kind: &str, explanation: &str) {
    let _ = write!(text, "# HELP nginx_upstream_{name} {explanation}\n# TYPE nginx_upstream_{name} {kind}\n");
}

/// How many there are; of them up, and down.
fn totals(servers: &[Listed<'_>]) -> (u64, u64, u64) {
    let up = servers.iter().filter(|server| server.up).count() as u64;
    let total = servers.len() as u64;
    (total, up, total - up)
}

fn word(server: &Listed<'_>) -> &'static str {
    if server.up { "up" } else { "down" }
}

/// A label's value as the format has it.
pub(crate) fn label(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
