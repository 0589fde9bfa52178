//! An application behind Serow, and nothing else: `app ADDR FILE [WORKERS]`.

use std::num::NonZero;

use serow::Server;
use serow_apps::{Application, ApplicationSettings, Interface, Interpreter, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().compact().with_target(false).with_writer(std::io::stderr).init();
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("app ADDR FILE [WORKERS]".into());
    };
    let interface = match file.rsplit('.').next() {
        Some("ru") => Interface::Rack,
        Some("psgi") => Interface::Psgi,
        Some("php") => Interface::PhpWorker,
        Some(name) if name.starts_with("asgi") => Interface::Asgi,
        _ => Interface::Wsgi,
    };
    let folder = std::env::current_dir()?;
    let program = Program { interface, application: file, interpreter: Interpreter::of(interface, &folder) };
    let mut settings = ApplicationSettings::new("app", program, folder);
    if let Some(workers) = arguments.next() {
        settings.run.processes = workers.parse::<NonZero<usize>>()?;
    }
    let application = Application::new(settings, 64);
    let _workers = application.run()?;
    Server::new().listen(&*address).run(application.handler())?;
    Ok(())
}
