//! Sites and routes in a word, and what a router answers without a connection.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    future::{Future, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use serow_message::{
    Body, Connection, Handler, Headers, KnownHeader, Method, Request, RequestHead, Response, Target, Version,
};
use serow_router::{Action, FixedResponse, HeaderChanges, Methods, Redirect, Route, Router, Site};

/// A handler that answers with its name and the target it got.
#[derive(Clone, Debug)]
pub(crate) struct Named(pub(crate) &'static str);

impl Handler for Named {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        ready(Response::text(format!("{} {}", self.0, request.target)).with("x-handler", self.0))
    }
}

/// A site for these hosts.
pub(crate) fn site<H>(hosts: &[&str], routes: Vec<Route<H>>) -> Site<H> {
    Site { hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(), ..Site::new(routes) }
}

/// A router of a site for all hosts.
pub(crate) fn router<H: Handler>(routes: Vec<Route<H>>) -> Router<H> {
    Router::new(vec![Site::new(routes)]).unwrap()
}

pub(crate) fn handle(path: &str, name: &'static str) -> Route<Named> {
    Route::new(path.parse().unwrap(), Action::Handle(Named(name)))
}

/// A route that may leave a request to others.
pub(crate) fn attempt(path: &str, name: &'static str) -> Route<Named> {
    Route::new(path.parse().unwrap(), Action::Try(Named(name)))
}

pub(crate) fn redirect<H>(path: &str, to: &str, status: u16) -> Route<H> {
    Route::new(path.parse().unwrap(), Action::Redirect(Redirect::new(to, status).unwrap()))
}

pub(crate) fn respond<H>(path: &str, status: u16) -> Route<H> {
    Route::new(path.parse().unwrap(), Action::Respond(FixedResponse::new(status).unwrap()))
}

pub(crate) fn rewrite<H>(path: &str, to: &str) -> Route<H> {
    Route::new(path.parse().unwrap(), Action::Rewrite(to.parse().unwrap()))
}

/// Further settings of a route.
pub(crate) trait With: Sized {
    fn methods(self, names: &[&str]) -> Self;
    fn headers(self, fields: &[(&str, &str)]) -> Self;
}

impl<H> With for Route<H> {
    fn methods(self, names: &[&str]) -> Self {
        Self { methods: Methods::new(names).unwrap(), ..self }
    }

    fn headers(self, fields: &[(&str, &str)]) -> Self {
        Self { headers: HeaderChanges::new(fields.iter().copied()).unwrap(), ..self }
    }
}

/// A request, as a server makes it.
pub(crate) fn request(method: &str, target: &str, host: Option<&str>) -> Request {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let target = Target::parse(target.as_bytes().to_vec().into(), method == Method::CONNECT).unwrap();
    let mut headers = Headers::new();
    if let Some(host) = host {
        headers.append(KnownHeader::Host, host).unwrap();
    }
    let head = RequestHead { method, target, headers, version: Version::HTTP_11 };
    Request::new(head, Body::empty(), Connection::default())
}

/// An answer, and the text of its body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.headers.get_str(name)
    }
}

pub(crate) fn answer(handler: &impl Handler, request: Request) -> Answer {
    let response = now(handler.call(request));
    let (status, headers) = (response.status.as_u16(), response.headers);
    let body = now(response.body.collect(1 << 20)).unwrap();
    Answer { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
}

/// The answer to a GET.
pub(crate) fn get(handler: &impl Handler, target: &str) -> Answer {
    answer(handler, request("GET", target, Some("example.com")))
}

/// Returns the output of a future that has nothing to wait for.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing to wait for"),
    }
}
