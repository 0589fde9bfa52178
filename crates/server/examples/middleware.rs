//! Layers of tower-http around a handler: compression, a header, a time limit.
//!
//! ```text
//! curl -si --compressed http://127.0.0.1:8080/
//! ```

use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use serow::{HandlerExt, Request, Response, Server};
use tower_http::{compression::CompressionLayer, set_header::SetResponseHeaderLayer, timeout::TimeoutLayer};

fn main() -> Result<(), serow::Error> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let page = |request: Request| async move {
        if request.target.path() == "/slow" {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Response::text("A serow is a goat-antelope of the mountains of Asia. ".repeat(100))
    };
    let handler = page
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, Duration::from_secs(2)))
        .layer(SetResponseHeaderLayer::overriding(header::SERVER, HeaderValue::from_static("serow")))
        .layer(CompressionLayer::new());
    Server::new().listen(address).run(handler)
}
