//! A Lua state with a script in it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use mlua::{Function, IntoLuaMulti, Lua, Table, Thread, Value};

use crate::lua::{
    budget::{Budget, Spent},
    held::HeldTable,
    hook::Hook,
    library,
    loading::Loading,
    operation::Operation,
    sandbox::{DONE, WAIT},
    script_source::ScriptSource,
    value_kind::kind,
};
use crate::{ScriptError, ScriptLimits};

/// A Lua state with a script in it, for the requests of one thread.
pub(crate) struct LuaState {
    lua: Lua,
    limits: ScriptLimits,
    budget: Rc<Budget>,
    /// Whether there is a function, by the places of hooks.
    hooks: [bool; 3],
    /// The function of a coroutine that runs functions of the script.
    runner: Function,
    /// The requests and responses that the functions have.
    held: Rc<HeldTable>,
    /// Coroutines whose functions have ended.
    idle: RefCell<Vec<Thread>>,
    /// Whether a function ended because of the limit of memory.
    is_exhausted: Cell<bool>,
}

/// How far a function has come.
pub(crate) enum FunctionProgress {
    /// It has returned this; and the request as the script has it.
    Done(Value, Value),
    /// It waits for this.
    Waiting(Thread, Operation),
}

impl LuaState {
    /// Loads the script, and has it set itself up.
    pub(crate) fn new(script: &Arc<ScriptSource>) -> Result<Self, ScriptError> {
        let loading = Loading::new(script)?;
        let functions = loading.budget.limit(LOAD_TIME, &mut Spent::default(), || {
            let functions = Functions::of(loading.run(script)?, &script.name)?;
            if let Some(setup) = &functions.setup {
                setup.call::<()>(library::config(&loading.lua, script, &loading.is_loading)?)?;
            }
            Ok::<_, ScriptError>(functions)
        })?;
        loading.is_loading.set(false);
        let Loading { lua, budget, held, prelude, .. } = loading;
        let Functions { request, response, log, .. } = &functions;
        let functions = [request, response, log].map(Option::as_ref);
        let (hooks, runner) = (functions.map(|function| function.is_some()), prelude.runner(functions)?);
        let ((idle, is_exhausted), limits) = (Default::default(), script.limits);
        Ok(Self { lua, limits, budget, hooks, runner, held, idle, is_exhausted })
    }

    pub(crate) fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Whether the script has this function.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.hooks[usize::from(hook.place()) - 1]
    }

    /// Whether the state has used up its memory, so that requests need another one.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// The requests and responses that the functions have.
    pub(crate) fn held(&self) -> &HeldTable {
        &self.held
    }

    /// Begins a function for the request of this number; the value is the request as an earlier function had it.
    pub(crate) fn begin(
        &self,
        hook: Hook,
        number: f64,
        request: Value,
        response: Option<f64>,
        spent: &mut Spent,
    ) -> Result<FunctionProgress, ScriptError> {
        let idle = self.idle.borrow_mut().pop();
        let thread = match idle {
            Some(thread) => thread,
            None => self.lua.create_thread(self.runner.clone()).map_err(|error| self.error(&error))?,
        };
        self.go_on(thread, (hook.place(), number, request, response), spent)
    }

    /// Goes on with a function whose operation has this result, or this error.
    pub(crate) fn resume(
        &self,
        thread: Thread,
        result: Result<Value, String>,
        spent: &mut Spent,
    ) -> Result<FunctionProgress, ScriptError> {
        match result {
            Ok(value) => self.go_on(thread, (true, value), spent),
            Err(text) => self.go_on(thread, (false, text), spent),
        }
    }

    fn go_on(
        &self,
        thread: Thread,
        arguments: impl IntoLuaMulti,
        spent: &mut Spent,
    ) -> Result<FunctionProgress, ScriptError> {
        type Values = (Value, Value, Value, Value);
        let values = self.budget.limit(self.limits.time, spent, || {
            self.lua.set_memory_limit(self.limits.memory)?;
            let values = thread.resume::<Values>(arguments);
            // Between the steps of a script, the server does little, and does it much faster without the limit.
            self.lua.set_memory_limit(0)?;
            values
        });
        match values.map_err(|error| self.error(&error))? {
            (Value::LightUserData(DONE), result, request, _) => {
                let mut idle = self.idle.borrow_mut();
                if idle.len() < MAX_IDLE {
                    idle.push(thread);
                }
                Ok(FunctionProgress::Done(result, request))
            }
            (Value::LightUserData(WAIT), name, argument, more) => {
                match Operation::new(&name, &argument, &more, &self.held, self.limits.memory) {
                    Ok(operation) => Ok(FunctionProgress::Waiting(thread, operation)),
                    Err(text) => self.resume(thread, Err(text), spent),
                }
            }
            _ => Err(ScriptError::new(
                "coroutine.yield outside of a coroutine of the script: nobody would go on with it",
            )),
        }
    }

    /// An error of a function.
    #[cold]
    fn error(&self, error: &mlua::Error) -> ScriptError {
        if is_of_memory(error) {
            self.is_exhausted.set(true);
            let Self { limits, .. } = self;
            return ScriptError::new(format_args!(
                "the script has reached its limit of memory, {} bytes",
                limits.memory
            ));
        }
        ScriptError::of_lua(error)
    }
}

/// Whether it is because of the limit of memory, perhaps below others.
fn is_of_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. }
        | mlua::Error::WithContext { cause, .. }
        | mlua::Error::BadArgument { cause, .. } => is_of_memory(cause),
        _ => false,
    }
}

/// The functions that a script returns.
#[derive(Default)]
struct Functions {
    setup: Option<Function>,
    request: Option<Function>,
    response: Option<Function>,
    log: Option<Function>,
}

impl Functions {
    fn of(value: Value, name: &str) -> Result<Self, ScriptError> {
        let Value::Table(table) = value else {
            let kind = kind(&value);
            return Err(ScriptError::new(format_args!(
                "{name}: a script returns a table of functions, not {kind}: write return {{ request = request }} at its end"
            )));
        };
        let mut functions = Self::default();
        for pair in Table::pairs::<Value, Value>(&table) {
            let (key, value) = pair?;
            let key = key.to_string()?;
            let place = match &*key {
                "setup" => &mut functions.setup,
                "request" => &mut functions.request,
                "response" => &mut functions.response,
                "log" => &mut functions.log,
                _ => {
                    return Err(ScriptError::new(format_args!(
                        "{name}: {key:?} is not a function that Serow calls: there are setup, request, response and log"
                    )));
                }
            };
            let Value::Function(function) = value else {
                return Err(ScriptError::new(format_args!("{name}: {key} is not a function, but {}", kind(&value))));
            };
            *place = Some(function);
        }
        let Self { request, response, log, .. } = &functions;
        if request.is_none() && response.is_none() && log.is_none() {
            return Err(ScriptError::new(format_args!(
                "{name}: the script has no function for requests: return a table with request, response or log"
            )));
        }
        Ok(functions)
    }
}

/// How long a script may take to be loaded and to set itself up, once per thread: until then, the thread has no time for
/// requests.
pub(crate) const LOAD_TIME: Duration = Duration::from_secs(5);

/// More are not kept: after many requests that waited at the same time, there are few again.
const MAX_IDLE: usize = 64;
