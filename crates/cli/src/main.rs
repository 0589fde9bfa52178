//! The command `serow`.
#![forbid(unsafe_code)]

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use mimalloc::MiMalloc;
use serow::Server;
use serow_files::{Files, FilesSettings};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A web server.
#[derive(Parser)]
#[command(name = "serow", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a folder.
    Files(FilesArguments),
}

#[derive(Args)]
struct FilesArguments {
    /// The folder to serve.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: Vec<String>,
    /// How many cores to use; all by default.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    workers: usize,
    /// Whether and where requests are logged.
    #[arg(long, default_value = "off", value_parser = ["off"])]
    access_log: String,
}

fn main() -> ExitCode {
    let Command::Files(arguments) = CommandLine::parse().command;
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell where even this fails.
            let _ = writeln!(io::stderr(), "serow: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: FilesArguments) -> Result<(), Box<dyn std::error::Error>> {
    let settings = FilesSettings { listing: true, ..FilesSettings::default() };
    let files = Files::with_settings(&arguments.dir, settings)?;
    let server = arguments.listen.iter().fold(Server::new(), |server, address| server.listen(address));
    let server = server.workers(arguments.workers).bind()?;
    let urls: Vec<_> = server.addresses().map(serow::Address::url).collect();
    // A closed stderr is no reason not to serve.
    let _ = writeln!(io::stderr(), "Serving {} at {}", arguments.dir.display(), urls.join(" "));
    server.run(files)?;
    Ok(())
}
