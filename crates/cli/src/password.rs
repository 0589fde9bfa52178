//! `serow password`: a line of a password file.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serow_access::hash_password;

use crate::{arguments::PasswordArguments, command_error::CommandError};

/// Asks for a password, and prints the line of the user.
pub(crate) fn run(arguments: &PasswordArguments) -> Result<(), CommandError> {
    let user = &arguments.user;
    if user.is_empty() || user.contains(':') || user.chars().any(char::is_control) {
        return Err(CommandError::Usage(format!("{user:?} cannot be the name of a user: leave colons out")));
    }
    let password = read_password()?;
    if password.is_empty() || password.len() > MAX_LENGTH {
        return Err(CommandError::Usage(format!("the password has {} bytes: write 1 to {MAX_LENGTH}", password.len())));
    }
    if password.contains(char::is_control) {
        return Err(CommandError::Usage("the password has a control character, which browsers do not send".to_owned()));
    }
    let hash = hash_password(password.as_bytes(), arguments.hash.kind()).map_err(CommandError::report)?;
    writeln!(io::stdout(), "{user}:{hash}").map_err(CommandError::output)
}

/// The password: twice from a terminal, which does not show it, otherwise the first line of the input.
fn read_password() -> Result<String, CommandError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return read_line();
    }
    let _hidden = HiddenInput::begin().map_err(CommandError::system)?;
    let password = ask("Password: ")?;
    if ask("Again: ")? != password {
        return Err(CommandError::Usage("the passwords differ: run the command again".to_owned()));
    }
    Ok(password)
}

fn ask(what: &str) -> Result<String, CommandError> {
    // Standard output is for the line.
    let mut terminal = io::stderr();
    terminal.write_all(what.as_bytes()).and_then(|()| terminal.flush()).map_err(CommandError::system)?;
    let line = read_line();
    terminal.write_all(b"\n").map_err(CommandError::system)?;
    line
}

fn read_line() -> Result<String, CommandError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(CommandError::system)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // It worked before.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// As long as the server accepts.
const MAX_LENGTH: usize = 512;
