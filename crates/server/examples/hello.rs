//! `hello ADDR [WORKERS]` answers every request with `Hello, World!`.

use std::env;

use serow::{Request, Response, Server};

fn main() -> Result<(), serow::Error> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let workers = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let server = Server::new().listen(&address).workers(workers).bind()?;
    for address in server.addresses() {
        eprintln!("listening on {}", address.url());
    }
    server.run(|_: Request| async { Response::text("Hello, World!") })
}
