//! Sends back what it gets, trailers included; without a body, the request's target.
//!
//! ```text
//! curl --http2-prior-knowledge -d hello http://127.0.0.1:8080/
//! ```

use serow::{Method, Request, Response, Server, TlsSettings, Versions};

fn main() -> Result<(), serow::Error> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let server = match arguments.next().as_deref() {
        Some("http2") => Server::new().listen(address).versions(Versions::Http2),
        Some("tls") => Server::new().listen_tls(address).tls(TlsSettings::self_signed()?),
        _ => Server::new().listen(address),
    };
    server.run(|mut request: Request| async move {
        match request.method {
            Method::POST | Method::PUT => Response::default().body(request.body),
            _ => {
                // A body that means nothing here is read all the same, so that whoever sends it is not cut off.
                while request.body.chunk().await.is_some() {}
                Response::text(format!("You asked for {}\n", request.target))
            }
        }
    })
}
