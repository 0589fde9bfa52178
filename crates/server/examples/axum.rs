//! `axum ADDR [WORKERS]` serves an axum router: any `tower::Service` over the `http` crate's types is a handler.

use axum::{Router, extract::Path, routing::get};
use serow::{Server, ServiceHandler};

fn main() -> Result<(), serow::Error> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let workers = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(0);

    let router = Router::new()
        .route("/", get(|| async { "Hello, World!" }))
        .route("/greet/{name}", get(|Path(name): Path<String>| async move { format!("Hello, {name}!") }))
        .route("/echo", axum::routing::post(|body: String| async move { body }));

    Server::new().listen(address).workers(workers).run(ServiceHandler::new(router))
}
