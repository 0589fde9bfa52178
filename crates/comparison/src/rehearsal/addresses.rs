//! `listen`: a port of loopback for each address.

use std::{io, net::TcpListener};

use super::{Listener, Making, made};
use serow_nginx_syntax::directive::Directive;

impl Making<'_> {
    /// Gives each address of the servers two ports: one for nginx, one for Serow.
    pub(super) fn listen(&mut self, directives: &mut [Directive]) -> io::Result<()> {
        let mut held = Vec::new();
        for http in directives.iter_mut().filter(|directive| directive.name() == "http") {
            let Some(block) = &mut http.block else { continue };
            for server in block.iter_mut().filter(|directive| directive.name() == "server") {
                self.listen_of(server, &mut held)?;
            }
        }
        Ok(())
    }

    fn listen_of(&mut self, server: &mut Directive, held: &mut Vec<TcpListener>) -> io::Result<()> {
        let is_all_tls = server.children().iter().any(|inner| inner.name() == "ssl" && inner.word(0) == Some("on"));
        let Some(block) = &mut server.block else { return Ok(()) };
        let mut own: Vec<usize> = Vec::new();
        let mut kept = Vec::with_capacity(block.len());
        let listens = block.iter().any(|inner| inner.name() == "listen");
        if !listens {
            kept.push(made("listen", &["80"]));
        }
        kept.append(block);
        kept.retain_mut(|inner| {
            if inner.name() != "listen" {
                return true;
            }
            match self.listener(inner, is_all_tls, held) {
                Ok(Some(listener)) if !own.contains(&listener) => {
                    own.push(listener);
                    true
                }
                _ => false,
            }
        });
        if own.is_empty() {
            let mut listen = made("listen", &["1"]);
            if let Some(listener) = self.listener(&mut listen, false, held)? {
                own.push(listener);
                kept.insert(0, listen);
            }
        }
        *block = kept;
        self.of_servers.push(own);
        Ok(())
    }

    /// The listener of a directive, whose words it changes; nothing for HTTP/3.
    fn listener(
        &mut self,
        listen: &mut Directive,
        is_all_tls: bool,
        held: &mut Vec<TcpListener>,
    ) -> io::Result<Option<usize>> {
        let written = listen.word(0).unwrap_or("80").to_owned();
        let options: Vec<String> = listen.texts().skip(1).map(str::to_owned).collect();
        let has = |name: &str| options.iter().any(|option| option == name);
        if has("quic") {
            return Ok(None);
        }
        if has("proxy_protocol") {
            self.note("the PROXY protocol is left out");
        }
        let (key, port) = original(&written);
        let is_tls = self.has_tls && (has("ssl") || is_all_tls);
        let listener = match self.by_address.get(&key) {
            Some(listener) => *listener,
            None => {
                let mut free = || -> io::Result<u16> {
                    let socket = TcpListener::bind(("127.0.0.1", 0))?;
                    let port = socket.local_addr()?.port();
                    // It is held until all ports are chosen, so that none is chosen twice.
                    held.push(socket);
                    Ok(port)
                };
                let made = Listener {
                    original: key.clone(),
                    port,
                    is_tls: false,
                    nginx: free()?,
                    serow: free()?,
                    is_used: true,
                };
                self.listeners.push(made);
                self.by_address.insert(key, self.listeners.len() - 1);
                self.listeners.len() - 1
            }
        };
        self.listeners[listener].is_tls |= is_tls;
        let mut words = vec![format!("127.0.0.1:{}", self.listeners[listener].nginx)];
        if self.has_tls && has("ssl") {
            words.push("ssl".to_owned());
        }
        if (has("default_server") || has("default")) && !self.defaults.iter().any(|(other, _)| *other == listener) {
            self.defaults.push((listener, self.of_servers.len()));
            words.push("default_server".to_owned());
        }
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        listen.words = made("listen", &texts).words;
        Ok(Some(listener))
    }
}

/// The address that counts, and its port: `80`, `*:80` and `[::]:80` are one address.
fn original(written: &str) -> (String, u16) {
    if written.starts_with("unix:") {
        return (written.to_owned(), 80);
    }
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match written.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, port),
        _ if is_port(written) => ("*", written),
        _ => (written, "80"),
    };
    let host = if matches!(host, "0.0.0.0" | "[::]" | "") { "*" } else { host };
    (format!("{host}:{port}"), port.parse().unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_a_port_are_one() {
        for written in ["80", "*:80", "[::]:80", "0.0.0.0:80", "*"] {
            assert_eq!(original(written), ("*:80".to_owned(), 80), "{written}");
        }
        assert_eq!(original("10.0.0.1:8080"), ("10.0.0.1:8080".to_owned(), 8080));
        assert_eq!(original("[::1]:443"), ("[::1]:443".to_owned(), 443));
        assert_eq!(original("unix:/run/x"), ("unix:/run/x".to_owned(), 80));
    }
}
