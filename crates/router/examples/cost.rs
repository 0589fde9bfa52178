//! Measures the cost of routing a request: `cargo run --profile dist -p serow-router --example cost`, or with `plain`,
//! `stars` or `matching` behind `--`, one of them alone, so that callgrind can count its instructions.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::{env, error::Error, hint::black_box, time::Instant};

use serow_message::Request;
use serow_router::{Action, Conditions, HeaderChanges, Networks, Route, Routed, Router, Site};
use serow_variables::{Expression, Letters, Scope, ValuePatterns};

fn main() -> Result<(), Box<dyn Error>> {
    let chosen = env::args().nth(1);
    let cases = [("plain", plain()?), ("stars", stars()?), ("matching", matching()?)];
    for (name, router) in cases {
        if chosen.as_ref().is_none_or(|chosen| *chosen == name) {
            let mut best = f64::MAX;
            for _ in 0..ROUNDS {
                let began = Instant::now();
                for _ in 0..REQUESTS {
                    ask(&router);
                }
                best = best.min(began.elapsed().as_nanos() as f64 / f64::from(REQUESTS));
            }
            println!("{name}: {best:.0} ns per request");
        }
    }
    Ok(())
}

/// Routes one request, with the fields that browsers send.
fn ask(router: &Router<()>) {
    let mut request = Request::get("/users/1234?v=2");
    for (name, value) in [("host", "example.com"), ("user-agent", "curl/8.5.0"), ("cookie", "a=b; beta=1")] {
        request.headers.append(name, value).unwrap_or_else(|_| unreachable!("a valid field"));
    }
    match black_box(router.route(&mut request, |(), _| None)) {
        Routed::Handler { headers, .. } => {
            black_box(headers);
        }
        Routed::Answer { response, .. } | Routed::Attempt { response, .. } => {
            black_box(response);
        }
    }
}

/// A route for everything.
fn plain() -> Result<Router<()>, Box<dyn Error>> {
    Ok(Router::new(vec![Site::new(vec![Route::new("/*".parse()?, Action::Handle(()))])])?)
}

/// A route with a star and a header.
fn stars() -> Result<Router<()>, Box<dyn Error>> {
    let headers = HeaderChanges::new([("X-A", "1"), ("X-B", "2"), ("X-C", "3")])?;
    let route = Route { headers, ..Route::new("/users/*".parse()?, Action::Handle(())) };
    Ok(Router::new(vec![Site::new(vec![route, Route::new("/*".parse()?, Action::Handle(()))])])?)
}

/// A route with an expression, two conditions and three variables.
fn matching() -> Result<Router<()>, Box<dyn Error>> {
    let expression: Expression = "^/users/(?<id>[0-9]+)$".parse()?;
    let scope = Scope::default().of_expression(&expression);
    let headers = [("X-A", "$id"), ("X-B", "$remote_addr"), ("X-C", "$http_user_agent")];
    let headers = HeaderChanges::with_variables(headers, &scope)?;
    let cookie = ValuePatterns::parse(&["1"], Letters::Exact).map_err(|(_, error)| error)?;
    let clients = Networks::parse(&["unix", "10.0.0.0/8"]).map_err(|(_, error)| error)?;
    let cookies = vec![("beta".to_owned(), cookie)];
    let conditions = Conditions { path: Some(expression), cookies, clients, ..Conditions::default() };
    let route = Route { headers, conditions, ..Route::new("/*".parse()?, Action::Handle(())) };
    Ok(Router::new(vec![Site::new(vec![route, Route::new("/*".parse()?, Action::Handle(()))])])?)
}

const ROUNDS: u32 = 10;
const REQUESTS: u32 = 20_000;
