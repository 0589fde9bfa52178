//! Configuration files of other servers, which people give to `serow check` first.

use serow_document::{Fault, Sources};

/// These faults, or one that names the server whose file this is.
pub(crate) fn explained(sources: &Sources, faults: Vec<Fault>) -> Vec<Fault> {
    let text = sources.texts().next().and_then(|(text, _)| told(text));
    match text {
        Some(text) => vec![Fault { span: None, text: text.to_owned() }],
        None => faults,
    }
}

/// The message about a text that is a file of another server; `None` for other texts.
fn told(text: &str) -> Option<&'static str> {
    let lines = || text.lines().map(str::trim);
    let opens_block = |line: &str| {
        let block = line.strip_suffix('{').map(str::trim_end);
        block.is_some_and(|block| {
            let word = block.split_whitespace().next().unwrap_or_default();
            matches!(word, "events" | "http" | "location" | "server" | "stream" | "upstream")
        })
    };
    let begins_with = |words: &[&str], line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        words.contains(&word) && !line.contains('=')
    };
    if lines().any(opens_block) || lines().any(|line| line.ends_with(';') && begins_with(&NGINX, line)) {
        return Some(
            "this is a configuration of nginx, and settings files of Serow are TOML: docs/from-nginx.md translates it",
        );
    }
    if lines().any(|line| begins_with(&CADDY, line)) {
        return Some(
            "this is a Caddyfile, and settings files of Serow are TOML: 'serow init' writes one for what is in a folder, and \
             docs/first-steps.md explains it",
        );
    }
    None
}

/// Directives that stand outside of blocks, too.
const NGINX: [&str; 8] =
    ["include", "listen", "load_module", "proxy_pass", "root", "server_name", "user", "worker_processes"];

/// Directives of the Caddyfile.
const CADDY: [&str; 8] =
    ["encode", "file_server", "handle", "handle_path", "php_fastcgi", "redir", "reverse_proxy", "root"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_servers_are_recognised() {
        for (text, expected) in [
            ("worker_processes 4;\n", "nginx"),
            ("server {\n  listen 80;\n}\n", "nginx"),
            ("location ~ \\.php$ {\n", "nginx"),
            ("example.com {\n\treverse_proxy localhost:9000\n}\n", "Caddyfile"),
            (":8080\nroot * /srv\nfile_server\n", "Caddyfile"),
            ("listen = 80\n[site\nroot = \"a\"\n", ""),
            ("[[site]]\nfiles = { root = \"a\" \n", ""),
            ("encode = gzip\n", ""),
        ] {
            let found = told(text).unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{text}: {found}");
        }
    }
}
