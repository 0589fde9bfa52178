//! The handler.

use std::{
    ffi::OsStr,
    fmt,
    future::poll_fn,
    io, mem,
    os::unix::ffi::OsStrExt,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serow_fastcgi::{CgiEvent, CgiHead, Variables, VariablesError};
use serow_gateway::{
    BufferedBody, BufferedContent, BufferedSender, CgiScript, Demand, ErrorReason, LogLimit, RequestSummary,
    ResponseBuffering, WaitingQueue, cgi_variables, error_page, remove_fields_for_server,
};
use serow_message::{Body, Handler, Incoming, KnownHeader, Method, Request, Response, StatusCode, content, hop_by_hop};
use tokio::task::spawn_local;

use crate::cgi::{body_feed::feed, output::Output, program, program_search::Search, settings::CgiSettings};

/// CGI programs. Clones share the limit of processes.
#[derive(Clone, Debug)]
pub struct Cgi(Arc<CgiState>);

#[derive(Debug)]
struct CgiState {
    settings: CgiSettings,
    running: AtomicUsize,
    queue: WaitingQueue,
    log: LogLimit,
}

/// A process's place among those that may run at a time.
#[derive(Debug)]
pub(crate) struct Permit(Arc<CgiState>);

/// A request, as the log names it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    summary: Arc<RequestSummary>,
    shared: Arc<CgiState>,
}

impl Cgi {
    /// Runs programs with these settings.
    ///
    /// # Errors
    ///
    /// Why the folder or the program cannot be used.
    pub fn new(settings: CgiSettings) -> io::Result<Self> {
        settings.check()?;
        let (running, queue, log) = (AtomicUsize::new(0), WaitingQueue::default(), LogLimit::new());
        Ok(Self(Arc::new(CgiState { settings, running, queue, log })))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &CgiSettings {
        &self.0.settings
    }

    /// Explains in words where a request goes.
    #[must_use]
    pub fn examine(&self, request: &Request) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.0.settings.program_at(request.target.path()) {
            Search::Found(CgiScript { filename, path_info: None, .. }) => {
                format!("the program {} runs", text(&filename))
            }
            Search::Found(CgiScript { filename, path_info: Some(rest), .. }) => {
                format!("the program {} runs, PATH_INFO is {}", text(&filename), text(&rest))
            }
            Search::Malformed => "no honest client sends this path (400)".to_owned(),
            Search::Nothing => "there is no program (404)".to_owned(),
            Search::NotExecutable(file) => format!("{} is not executable (404): chmod +x makes it so", text(&file)),
            Search::NoFolder => "the folder of programs cannot be opened (503)".to_owned(),
        }
    }

    /// Answers a request.
    pub fn respond(&self, mut request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = answer(&shared, &mut request).await;
            answer.unwrap_or_else(|reason| error_page(reason, &request.headers))
        })
    }
}

impl Handler for Cgi {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}

async fn answer(shared: &Arc<CgiState>, request: &mut Request) -> Result<Response, ErrorReason> {
    let (settings, method) = (&shared.settings, request.method.clone());
    if method == Method::CONNECT {
        return Err(StatusCode::NOT_IMPLEMENTED.into());
    }
    let summary = RequestSummary { method: method.clone(), target: request.target.clone() };
    let asked = Asked { summary: Arc::new(summary), shared: Arc::clone(shared) };
    let script = asked.script(settings.program_at(request.target.path()))?;
    let program = script.filename.clone();
    let program = Path::new(OsStr::from_bytes(&program));
    request.extensions.insert(script);
    let body = mem::take(&mut request.body);
    let has_body = body.length() != Some(0);
    let whole = BufferedBody::read(body, &settings.buffer).await.map_err(|error| {
        error.log("cgi", &settings.buffer);
        error.status()
    })?;
    let content = whole.into_content();
    let variables = variables(request, settings, has_body.then(|| length(&content)))
        .map_err(|error| asked.refuse(status_of(&error), format_args!("{error}")))?;
    // Only then, so that slow uploads occupy no process.
    let is_busy = |_: &ErrorReason| asked.warn(format_args!("all processes are busy (`processes`, `queue`)"));
    let permit = permit(shared).await.inspect_err(is_busy)?;
    let cannot_run = |error: io::Error| {
        let text = format_args!("cannot run {}: {error}", program.display());
        asked.refuse(StatusCode::INTERNAL_SERVER_ERROR, text)
    };
    let started = program::run(program, &variables, content, settings, &asked, permit).await;
    let (pipe, lifeline) = started.map_err(cannot_run)?;
    let output = Output::new(pipe, lifeline, &method, settings.timeout, asked.clone());
    let mut output = output.map_err(cannot_run)?;
    loop {
        match poll_fn(|context| output.poll_next(context)).await {
            Ok(Some(CgiEvent::Head(head))) => return Ok(respond(head, output, &method)),
            // A head comes first, or an error.
            Ok(_) => {}
            Err(error) => {
                let program = program.display();
                return Err(asked.refuse(error.status(), format_args!("{program}: {error}")));
            }
        }
    }
}

/// The response with this head.
fn respond(head: CgiHead, output: Output, method: &Method) -> Response {
    let CgiHead { status, mut headers, content_length } = head;
    let has_body = *method != Method::HEAD && content::is_possible(status);
    let buffering = ResponseBuffering::default().settings_for(content_length, &headers);
    remove_fields_for_server(&mut headers);
    if *method == Method::HEAD
        && content::is_possible(status)
        && let Some(length) = content_length
    {
        // Digits are a valid value (RFC 9110 §8.6).
        let _ = headers.append(KnownHeader::ContentLength, length.to_string());
    }
    let mut body = Body::empty();
    if has_body || *method == Method::HEAD && content_length.is_none() {
        let (sender, incoming) = Incoming::channel(if has_body { content_length } else { None });
        body = incoming.into();
        if has_body {
            spawn_local(feed(output, BufferedSender::new(sender, buffering)));
        } else {
            // An empty body would be announced as such.
            sender.finish(None);
            spawn_local(output.drain());
        }
    } else {
        spawn_local(output.drain());
    }
    Response { headers, body, ..Response::new(status) }
}

/// The variables of a request, with those of the settings.
fn variables(request: &Request, settings: &CgiSettings, length: Option<u64>) -> Result<Variables, VariablesError> {
    let mut headers = request.headers.clone();
    hop_by_hop::remove(&mut headers);
    let _ = headers.remove(KnownHeader::Expect);
    let mut variables = cgi_variables(request, &headers, &settings.trusted)?;
    if let Some(length) = length {
        variables.set("CONTENT_LENGTH", length.to_string())?;
    }
    Ok(variables)
}

fn status_of(error: &VariablesError) -> StatusCode {
    match error {
        VariablesError::TooLong { .. } | VariablesError::PacketTooLong(_) => {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        }
        VariablesError::Name(_) | VariablesError::Nul(_) => StatusCode::BAD_REQUEST,
    }
}

fn length(content: &BufferedContent) -> u64 {
    match content {
        BufferedContent::Memory(bytes) => bytes.len() as u64,
        BufferedContent::File(file) => file.length(),
    }
}

/// A place for a process; waits for one.
async fn permit(shared: &Arc<CgiState>) -> Result<Permit, ErrorReason> {
    let most = shared.settings.processes.get();
    let choose = || {
        let count = |running: usize| (running < most).then_some(running + 1);
        let taken = shared.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, count);
        taken.is_ok().then(|| Ok(Permit(Arc::clone(shared))))
    };
    // Those that wait already come first.
    match if shared.queue.waiting() == 0 { choose() } else { None } {
        Some(permit) => permit,
        None => shared.queue.wait(shared.settings.queue, Demand::Any, choose).await,
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.queue.note_left();
    }
}

impl Asked {
    /// Writes a line to the log, unless there are too many.
    pub(crate) fn warn(&self, text: fmt::Arguments<'_>) {
        if let Some(suppressed) = self.shared.log.admit_now() {
            if suppressed.0 > 0 {
                tracing::warn!("and {suppressed} more warnings of CGI programs before");
            }
            tracing::warn!("{}: {text}", self.summary);
        }
    }

    fn refuse(&self, status: StatusCode, text: fmt::Arguments<'_>) -> ErrorReason {
        self.warn(text);
        status.into()
    }

    fn script(&self, search: Search) -> Result<CgiScript, ErrorReason> {
        match search {
            Search::Found(script) => Ok(script),
            Search::Malformed => Err(StatusCode::BAD_REQUEST.into()),
            Search::Nothing => Err(StatusCode::NOT_FOUND.into()),
            Search::NotExecutable(file) => {
                let file = String::from_utf8_lossy(&file).into_owned();
                let text = format_args!("{file} is not executable: chmod +x makes it so");
                Err(self.refuse(StatusCode::NOT_FOUND, text))
            }
            Search::NoFolder => {
                let text = format_args!("the folder of programs cannot be opened: {:?}", self.shared.settings.programs);
                Err(self.refuse(StatusCode::SERVICE_UNAVAILABLE, text))
            }
        }
    }
}
