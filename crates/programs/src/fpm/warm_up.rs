//! Filling the opcache of a new php-fpm: it compiles the scripts that the one before has compiled.
//!
//! Two scripts of the server's own do that, one in each php-fpm. They compile, and run nothing of the application.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serow_fastcgi::{Persistence, Role, Variables, VariablesError, WebServer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::timeout,
};

/// Writes the scripts into the folder of a new php-fpm.
pub(crate) fn write_scripts(folder: &Path) -> io::Result<()> {
    fs::write(folder.join(LIST), LIST_SCRIPT)?;
    fs::write(folder.join(COMPILE), COMPILE_SCRIPT)
}

/// Fills the opcache of the php-fpm that has a child at the socket `new` and this folder, from that with a child at `old`.
/// Where that fails or takes long, the opcache stays as it is.
pub(crate) async fn warm_up(old: PathBuf, new: PathBuf, folder: PathBuf) {
    let compiled = async {
        run(&old, &folder.join(LIST)).await?;
        run(&new, &folder.join(COMPILE)).await
    };
    match timeout(LIMIT, compiled).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("the opcache of php-fpm is not filled: {error}"),
        Err(_) => tracing::debug!("the opcache of php-fpm is not filled after {LIMIT:?}"),
    }
}

/// Runs a script in the child at this socket.
async fn run(socket: &Path, script: &Path) -> io::Result<()> {
    let request = request(script).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
    let mut connection = UnixStream::connect(socket).await?;
    connection.write_all(&request).await?;
    connection.shutdown().await?;
    // A few records, which say nothing.
    let mut response = Vec::new();
    connection.take(MAX_RESPONSE).read_to_end(&mut response).await?;
    Ok(())
}

fn request(script: &Path) -> Result<Vec<u8>, VariablesError> {
    let path = script.as_os_str().as_encoded_bytes();
    let mut variables = Variables::default();
    variables.set("REQUEST_METHOD", "GET")?;
    variables.set("SCRIPT_FILENAME", path)?;
    variables.set("SCRIPT_NAME", path)?;
    let mut output = Vec::new();
    let mut machine = WebServer::begin_request(Role::Responder, Persistence::Close, &variables, &mut output)?;
    // It was not sent before.
    let _ = machine.end_stream(&mut output);
    Ok(output)
}

const LIST: &str = "list.php";

/// `opcache.restrict_api` may forbid it, and there may be no opcache.
const LIST_SCRIPT: &str = "<?php
$status = function_exists('opcache_get_status') ? @opcache_get_status(true) : [];
file_put_contents(__DIR__ . '/scripts', implode(\"\\n\", array_keys($status['scripts'] ?? [])));
";

const COMPILE: &str = "compile.php";

const COMPILE_SCRIPT: &str = "<?php
foreach (@file(__DIR__ . '/scripts', FILE_IGNORE_NEW_LINES | FILE_SKIP_EMPTY_LINES) ?: [] as $script) {
    try {
        if (is_file($script)) @opcache_compile_file($script);
    } catch (Throwable) {
    }
}
";

/// The time for all scripts: a thousand need about two seconds.
const LIMIT: Duration = Duration::from_secs(10);

const MAX_RESPONSE: u64 = 64 * 1024;
