//! The functions of a script around a handler: what becomes of a request, and of its response.

use std::{pin::Pin, rc::Rc};

use mlua::Value;
use serow_gateway::{RequestSummary, error_page};
use serow_message::{Headers, Request, Response, StatusCode};

use crate::lua::{
    answer,
    budget::Spent,
    context::Context,
    held::Held,
    hook::Hook,
    logged,
    response_cell::ResponseCell,
    state::{FunctionProgress, LuaState},
    states,
    value_kind::kind,
};
use crate::{DEPTH_FIELD, RouteChoice, Script, ScriptError};

/// The decision of a script about a request.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once, and a box would be an allocation per request")]
pub enum Begun {
    /// The handler gets it; then, if the script has a function for that, it gets the response.
    Handle(Request, Option<Watched>),
    /// The script has responded itself.
    Respond(Response),
}

/// A request whose script wants to see the response.
pub struct Watched {
    exchange: ScriptedRequest,
}

/// A request in the hands of a script.
struct ScriptedRequest {
    state: Rc<LuaState>,
    context: Rc<Context>,
    /// The number by which the script knows the request.
    number: f64,
    /// The request as the script has it.
    value: Value,
    /// How long the functions have computed for it.
    spent: Spent,
    summary: RequestSummary,
}

impl Script {
    /// Begins with a request. Most functions end at once; the future is for those that wait.
    ///
    /// # Errors
    ///
    /// None: what goes wrong in a script is logged, and its client gets 500.
    pub fn begin(&self, request: Request, choice: RouteChoice) -> Result<Begun, Pin<Box<dyn Future<Output = Begun>>>> {
        let summary = RequestSummary { method: request.method.clone(), target: request.target.clone() };
        let state = match states::of_thread(self) {
            Ok(state) => state,
            Err(error) => {
                self.source.log_error("setup", &summary, &error);
                return Ok(Begun::Respond(error_page(StatusCode::INTERNAL_SERVER_ERROR, &request.headers)));
            }
        };
        let context = Rc::new(Context::new(request, self.clone(), choice));
        let number = state.held().hold(Held::Request(Rc::clone(&context)));
        let (value, spent) = (Value::Nil, Spent::default());
        let mut exchange = ScriptedRequest { state, context, number, value, spent, summary };
        if !exchange.state.has(Hook::Request) {
            return Ok(exchange.hand_over());
        }
        match exchange.start(Hook::Request, None) {
            Ok(FunctionProgress::Done(value, request)) => {
                exchange.value = request;
                Ok(exchange.decide(Ok(value)))
            }
            Err(error) => Ok(exchange.decide(Err(error))),
            Ok(step) => Err(Box::pin(async move {
                let value = exchange.finish(step).await;
                exchange.decide(value)
            })),
        }
    }
}

impl Watched {
    /// The response as the script changes it.
    pub async fn finish(self, response: Response) -> Response {
        let mut exchange = self.exchange;
        if !exchange.state.has(Hook::Response) {
            return exchange.log(response);
        }
        let cell = Rc::new(ResponseCell::new(response));
        let shown = Shown::new(&exchange.state, Rc::clone(&cell));
        let value = match exchange.start(Hook::Response, Some(shown.number)) {
            Ok(step) => exchange.finish(step).await,
            Err(error) => Err(error),
        };
        drop(shown);
        let response = cell.take();
        match (value, response) {
            (Ok(Value::Nil | Value::Boolean(_)), Some(response)) => exchange.log(response),
            (Ok(value), Some(_)) => {
                let text =
                    format!("`response` returned {}: it changes the response, and returns nothing", kind(&value));
                exchange.fail(Hook::Response, &ScriptError::new(text))
            }
            (Err(error), _) => exchange.fail(Hook::Response, &error),
            (Ok(_), None) => exchange.fail(Hook::Response, &ScriptError::new("the response is lost")),
        }
    }
}

impl ScriptedRequest {
    /// Begins a function, which gets the response of this number.
    fn start(&mut self, hook: Hook, response: Option<f64>) -> Result<FunctionProgress, ScriptError> {
        let request = std::mem::replace(&mut self.value, Value::Nil);
        self.state.begin(hook, self.number, request, response, &mut self.spent)
    }

    /// Goes on until the function has returned.
    async fn finish(&mut self, mut step: FunctionProgress) -> Result<Value, ScriptError> {
        for _ in 0..MAX_OPERATIONS {
            match step {
                FunctionProgress::Done(value, request) => {
                    self.value = request;
                    return Ok(value);
                }
                FunctionProgress::Waiting(thread, operation) => {
                    let result =
                        operation.run(self.state.lua(), &self.context.script.source.servers, self.depth()).await;
                    step = self.state.resume(thread, result, &mut self.spent)?;
                }
            }
        }
        match step {
            FunctionProgress::Done(value, _) => Ok(value),
            FunctionProgress::Waiting(..) => Err(ScriptError::new(format_args!(
                "the script has waited {MAX_OPERATIONS} times for one request: does it loop?"
            ))),
        }
    }

    /// Through how many scripts the request has come.
    fn depth(&self) -> u32 {
        let depth = self.context.with(|request| {
            Ok(request.headers.get_str(DEPTH_FIELD).and_then(|text| text.parse().ok()).unwrap_or_default())
        });
        depth.unwrap_or_default()
    }

    /// Decides about a request by the value that its function has returned.
    fn decide(self, value: Result<Value, ScriptError>) -> Begun {
        let answer = value.and_then(|value| {
            self.context.with(|request| answer::of(&value, &request.headers)).map_err(ScriptError::new)
        });
        match answer {
            Ok(None) => self.hand_over(),
            Ok(Some(response)) => {
                let mut exchange = self;
                exchange.context.close();
                Begun::Respond(exchange.log(response))
            }
            Err(error) => Begun::Respond(self.fail(Hook::Request, &error)),
        }
    }

    /// Passes the request on to the handler.
    fn hand_over(self) -> Begun {
        let is_watched = self.state.has(Hook::Response) || self.state.has(Hook::Log);
        match self.context.hand_over(is_watched) {
            Some(request) if is_watched => Begun::Handle(request, Some(Watched { exchange: self })),
            Some(request) => Begun::Handle(request, None),
            None => Begun::Respond(self.fail(Hook::Request, &ScriptError::new("the request is lost"))),
        }
    }

    /// Asks for fields of the access log, and ends.
    fn log(&mut self, mut response: Response) -> Response {
        if !self.state.has(Hook::Log) {
            return response;
        }
        let cell = Rc::new(ResponseCell::new(response));
        cell.close();
        let shown = Shown::new(&self.state, Rc::clone(&cell));
        let value = match self.start(Hook::Log, Some(shown.number)) {
            Ok(FunctionProgress::Done(value, _)) => logged::of(&value).map_err(ScriptError::new),
            Ok(FunctionProgress::Waiting(..)) => {
                Err(ScriptError::new("`log` cannot wait: the response is sent behind it"))
            }
            Err(error) => Err(error),
        };
        drop(shown);
        response = cell.take().unwrap_or_default();
        match value {
            Ok(None) => {}
            Ok(Some(fields)) => drop(response.extensions.insert(fields)),
            Err(error) => self.context.script.source.log_error(Hook::Log.as_str(), &self.summary, &error),
        }
        response
    }

    /// Logs an error; the client gets 500.
    fn fail(&self, hook: Hook, error: &ScriptError) -> Response {
        self.context.script.source.log_error(hook.as_str(), &self.summary, error);
        let page = self.context.with(|request| Ok(error_page(StatusCode::INTERNAL_SERVER_ERROR, &request.headers)));
        page.unwrap_or_else(|_| error_page(StatusCode::INTERNAL_SERVER_ERROR, &Headers::new()))
    }
}

/// A response while a function of the script has it.
struct Shown {
    state: Rc<LuaState>,
    number: f64,
}

impl Shown {
    fn new(state: &Rc<LuaState>, cell: Rc<ResponseCell>) -> Self {
        Self { state: Rc::clone(state), number: state.held().hold(Held::Response(cell)) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.state.held().release(self.number);
    }
}

impl Drop for ScriptedRequest {
    /// A script may keep its value of the request: nothing of the request stays in it.
    fn drop(&mut self) {
        self.state.held().release(self.number);
        self.context.end();
    }
}

/// More than any page is made of.
const MAX_OPERATIONS: usize = 1000;
