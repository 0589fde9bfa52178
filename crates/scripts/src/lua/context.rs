//! A request as long as its script has it.

use std::cell::{Cell, RefCell};

use serow_message::{Body, Request, TrustedProxies};

use crate::{RouteChoice, Script};

/// A request as long as its script has it. Scripts may keep their value of it for longer, which leads to nothing then.
pub(crate) struct Context {
    request: RefCell<Option<Request>>,
    /// Whether the request can still be changed: not after it was passed on.
    is_open: Cell<bool>,
    /// Whether its body is being read.
    is_reading: Cell<bool>,
    pub(crate) script: Script,
    /// Whether the script can choose the route.
    pub(crate) choice: RouteChoice,
}

impl Context {
    pub(crate) fn new(request: Request, script: Script, choice: RouteChoice) -> Self {
        let (is_open, is_reading) = (Cell::new(true), Cell::new(false));
        Self { request: RefCell::new(Some(request)), is_open, is_reading, script, choice }
    }

    /// Proxies that may name the client.
    pub(crate) fn trusted(&self) -> &TrustedProxies {
        &self.script.source.trusted
    }

    /// Reads something of the request.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&Request) -> Result<T, String>) -> Result<T, String> {
        match &*self.request.borrow() {
            Some(request) => read(request),
            None => Err(ENDED.to_owned()),
        }
    }

    /// Changes something of the request.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Request) -> Result<T, String>) -> Result<T, String> {
        match &mut *self.request.borrow_mut() {
            Some(_) if !self.is_open.get() => {
                Err("the request was passed on already: change it in the function `request`, or change the response"
                    .to_owned())
            }
            Some(request) => change(request),
            None => Err(ENDED.to_owned()),
        }
    }

    /// From now on, it can only be read.
    pub(crate) fn close(&self) {
        self.is_open.set(false);
    }

    /// Takes the request, to pass it on; what stays is a copy of its head, for the functions that come later.
    pub(crate) fn hand_over(&self, is_watched: bool) -> Option<Request> {
        self.close();
        let request = self.request.borrow_mut().take()?;
        if is_watched {
            self.request.replace(Some(copy_of_head(&request)));
        }
        Some(request)
    }

    /// Ends it: nothing of the request stays in the state of the script.
    pub(crate) fn end(&self) {
        self.request.replace(None);
    }

    /// Takes the body, to read it.
    pub(crate) fn take_body(&self) -> Result<Body, String> {
        let mut request = self.request.borrow_mut();
        match &mut *request {
            None => Err(ENDED.to_owned()),
            Some(_) if !self.is_open.get() => {
                Err("the body was passed on with the request: read it in the function `request`".to_owned())
            }
            Some(_) if self.is_reading.replace(true) => Err("the body is being read already".to_owned()),
            Some(request) => Ok(std::mem::replace(&mut request.body, Body::empty())),
        }
    }

    /// Puts a body into its place.
    pub(crate) fn put_body(&self, body: Body) {
        self.is_reading.set(false);
        if let Some(request) = &mut *self.request.borrow_mut() {
            request.body = body;
        }
    }
}

fn copy_of_head(request: &Request) -> Request {
    let head = serow_message::RequestHead {
        method: request.method.clone(),
        target: request.target.clone(),
        version: request.version,
        headers: request.headers.clone(),
    };
    Request::new(head, Body::empty(), request.connection().clone())
}

const ENDED: &str = "the request has ended: copy what is needed of it before";
