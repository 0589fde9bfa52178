//! Compares nginx with Serow by an nginx.conf: `compare NGINX.CONF SEROW [NGINX]`. Ends with 1 if they differ.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serow_import::comparison::{Programs, compare};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let main = arguments.next().ok_or("name an nginx.conf")?.canonicalize()?;
    let serow = arguments.next().ok_or("name a program serow")?;
    let nginx = arguments.next().unwrap_or_else(|| PathBuf::from("nginx"));
    let prefix = main.parent().unwrap_or(Path::new("/"));
    match compare(&main, prefix, &Programs { nginx, serow }) {
        Ok(comparison) => {
            print!("{comparison}");
            Ok(if comparison.is_same() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(error) => {
            eprintln!("{error}");
            Ok(ExitCode::from(2))
        }
    }
}
