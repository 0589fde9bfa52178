//! The error of a command line, in one line, for which clap needs several.

use std::{error::Error, ffi::OsString, path::Path};

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};
use serow_config::{in_options, values::choice};

use crate::{command_error::CommandError, command_line::CommandLine};

/// The error that clap found in the arguments of this command.
pub(crate) fn error_of(command: &str, arguments: &[OsString], error: clap::Error) -> CommandError {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => CommandError::Help(error),
        _ => CommandError::Usage(line(command, arguments, &error)),
    }
}

/// One line that says what is wrong with what stands behind this command, and what to write instead.
fn line(command: &str, arguments: &[OsString], error: &clap::Error) -> String {
    let help = format!("see serow {command} --help");
    let option = text(error, ContextKind::InvalidArg).unwrap_or_default();
    // `--listen <ADDR>`, `[DIR]` and `<UPSTREAM>...` in clap's context.
    let is_argument = !option.starts_with(['-', '<', '[']);
    let name = option.split_once([' ', '=']).filter(|_| !is_argument).map_or(option.as_str(), |(name, _)| name);
    let name = name.trim_end_matches("...").trim_matches(['<', '>']);
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(command, arguments, error, name, &help),
        ErrorKind::InvalidValue if value.is_empty() => format!("{name} needs a value: {option}"),
        ErrorKind::InvalidValue => match text(error, ContextKind::ValidValue) {
            Some(values) => {
                let names: Vec<_> = values.split(", ").map(str::to_owned).collect();
                let meant = choice::near(&value, &names).map(|name| format!("; did you mean {name}?"));
                format!("{name}: {value:?} is not one of {values}{}", meant.unwrap_or_default())
            }
            None => format!("{name}: {value:?} is not a valid value"),
        },
        ErrorKind::ValueValidation => match error.source() {
            Some(source) => in_options(&format!("{name}: {source}")),
            None => format!("{name}: {value:?} is not a valid value"),
        },
        ErrorKind::ArgumentConflict if text(error, ContextKind::PriorArg).is_none_or(|prior| prior == option) => {
            format!("{name} is given twice; give it once")
        }
        ErrorKind::InvalidUtf8 => {
            "an option has a value that is not UTF-8 text; only names of folders and files may be".to_owned()
        }
        ErrorKind::MissingRequiredArgument => match option.as_str() {
            "<URL>" | "<URL>..." => format!("a URL is missing; write one, as in http://127.0.0.1:8080/; {help}"),
            "<UPSTREAM>..." => format!("a server is missing; name one, as in serow proxy 127.0.0.1:9000; {help}"),
            // One of several, as clap writes it: `<--http2|--http3>`.
            missing if missing.starts_with("<--") => {
                format!("{} is missing; {help}", missing.trim_matches(['<', '>']).replace('|', " or "))
            }
            missing => format!("{missing} is missing; {help}"),
        },
        ErrorKind::InvalidSubcommand if command == "help" => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("there is no command {word:?}; there are {}", visible_commands().join(", "))
        }
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let names = commands_of(command);
            let told = match choice::near(&word, &names) {
                Some(name) => format!("did you mean {name}?"),
                None => format!("available: {}", names.join(", ")),
            };
            format!("serow {command} has no command {word}; {told}")
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("a command is missing behind serow {command}; available: {}", commands_of(command).join(", "))
        }
        _ => first_line(error, &help),
    }
}

/// The commands below another one.
fn commands_of(command: &str) -> Vec<String> {
    let all = CommandLine::command();
    let below = all.find_subcommand(command).into_iter().flat_map(clap::Command::get_subcommands);
    below.filter(|command| !command.is_hide_set()).map(|command| command.get_name().to_owned()).collect()
}

/// The names of the commands that the help lists.
fn visible_commands() -> Vec<String> {
    let commands = CommandLine::command();
    let visible = commands.get_subcommands().filter(|command| !command.is_hide_set());
    visible.map(|command| command.get_name().to_owned()).collect()
}

fn unknown(command: &str, arguments: &[OsString], error: &clap::Error, name: &str, help: &str) -> String {
    let words: Vec<_> = arguments.iter().skip(2).map(|word| word.to_string_lossy()).collect();
    if !name.starts_with('-') {
        if command == "app"
            && let Some(program) = program(&words, name)
        {
            return format!("{name:?} is an unexpected argument; to run a program, write serow app -- {program}");
        }
        if TAKES_FILE.contains(&command) {
            return format!(
                "{name:?} is an unexpected argument; to name a settings file, write serow {command} -c {name}"
            );
        }
        return format!("{name:?} is an unexpected argument; {help}");
    }
    if name == "-c"
        && let [first, ..] = &commands_of(command)[..]
    {
        let file = words.iter().skip_while(|word| *word != "-c").nth(1).map_or("FILE", |word| &**word);
        return format!("-c stands behind a command, as in serow {command} {first} -c {file}");
    }
    if let Some((_, hint)) = OPTIONS_OF_OTHERS.iter().find(|(option, _)| *option == name) {
        return format!("there is no option {name}; {}", with_port(hint, &words, name));
    }
    // `serow app --spa index.html`, with a folder app.
    let (command, _) = command.split_once(' ').unwrap_or((command, ""));
    if command != "files" && Path::new(command).is_dir() && files_knows(name) {
        return format!("serow {command} has no option {name}; to serve the folder {command}, write serow ./{command}");
    }
    match text(error, ContextKind::SuggestedArg) {
        Some(suggestion) => format!("there is no option {name}; did you mean {suggestion}?"),
        None => format!("there is no option {name}; {help}"),
    }
}

/// The program and its arguments that were written without `--`, if this is its first argument.
fn program(words: &[impl AsRef<str>], argument: &str) -> Option<String> {
    let place = words.iter().position(|word| word.as_ref() == argument)?;
    let program = words.get(place.checked_sub(1)?)?.as_ref();
    let is_application = program.ends_with(".ru") || program.ends_with(".psgi") || program.contains(':');
    let words: Vec<_> = words[place - 1..].iter().map(|word| serow_project::quoted(word.as_ref())).collect();
    (!program.starts_with('-') && !is_application).then(|| words.join(" "))
}

/// A hint about a port, with that of the user, if one stands there.
fn with_port(hint: &str, words: &[impl AsRef<str>], option: &str) -> String {
    let written = words.iter().map(AsRef::as_ref).skip_while(|word| !word.starts_with(option)).take(2);
    let port = written
        .map(|word| word.trim_start_matches(option).trim_start_matches('='))
        .find(|word| word.parse::<u16>().is_ok());
    port.map_or_else(|| hint.to_owned(), |port| hint.replace("8000", port))
}

/// Commands whose only argument can be meant as a settings file.
const TAKES_FILE: [&str; 5] = ["run", "check", "reload", "stop", "status"];

/// Options of other servers and tools, and what to write here.
const OPTIONS_OF_OTHERS: [(&str, &str); 29] = [
    ("--port", "write --listen 8000, or --listen :8000 for all addresses"),
    ("-p", "write --listen 8000, or --listen :8000 for all addresses"),
    ("-l", "write --listen 8000, or --listen :8000 for all addresses"),
    ("--host", "write --listen ADDRESS:PORT"),
    ("--bind", "write --listen ADDRESS:PORT"),
    ("--address", "write --listen ADDRESS:PORT"),
    ("-a", "write --listen ADDRESS:PORT"),
    ("-c", "a settings file is run by: serow run -c FILE"),
    ("--config", "a settings file is run by: serow run -c FILE"),
    ("-z", "write -d TIME, as in -d 10s"),
    ("-b", "write --listen ADDRESS:PORT"),
    ("-w", "write --processes 4 for workers of an application, --workers 4 for threads of the server"),
    ("--cert", "write --tls CERTIFICATE,KEY, with both files"),
    ("--key", "write --tls CERTIFICATE,KEY, with both files"),
    ("--ssl", "write --tls self-signed for development, --tls CERTIFICATE,KEY, or --acme NAME"),
    ("--https", "write --tls self-signed for development, --tls CERTIFICATE,KEY, or --acme NAME"),
    ("-S", "write --tls self-signed for development, --tls CERTIFICATE,KEY, or --acme NAME"),
    ("--root", "the folder is the argument, as in serow public"),
    ("--dir", "the folder is the argument, as in serow public"),
    ("--directory", "the folder is the argument, as in serow public"),
    ("-d", "Serow runs in the foreground; systemd or a container runs it in the background (docs/running.md)"),
    ("--daemon", "Serow runs in the foreground; systemd or a container runs it in the background (docs/running.md)"),
    ("-g", "Serow runs in the foreground, and its settings are in the file of serow run -c FILE"),
    ("-v", "for the version, write serow --version"),
    ("-t", "to check a settings file, run serow check -c FILE"),
    ("-s", "write serow reload, serow stop"),
    ("--to", "the server is the argument, as in serow proxy 127.0.0.1:9000"),
    ("--from", "write --listen ADDRESS:PORT; with HTTPS for a name, --acme NAME"),
    ("-R", "the application is the argument, as in serow app config.ru"),
];

/// Whether it is an option of `serow files`.
fn files_knows(option: &str) -> bool {
    let commands = CommandLine::command();
    let mut options = commands.find_subcommand("files").into_iter().flat_map(clap::Command::get_arguments);
    options.any(|known| known.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long)))
}

/// Suggests a command or a port that may have been meant by the name of a folder that does not exist.
pub(crate) fn hint_for_folder(folder: &Path) -> Option<String> {
    let word = folder.to_str()?;
    if word.parse::<u16>().is_ok() {
        return Some(format!("; to listen on the port {word}, write --listen {word}"));
    }
    let meant = COMMANDS_OF_OTHERS.iter().find(|(command, _)| *command == word).map(|(_, meant)| *meant);
    if let Some(meant) = meant {
        return Some(format!("; {meant}"));
    }
    let names = visible_commands();
    choice::near(word, &names).map(|name| format!("; did you mean the command serow {name}?"))
}

/// Commands of other servers, and what to write here.
const COMMANDS_OF_OTHERS: [(&str, &str); 9] = [
    ("serve", "to serve a folder, write serow DIR"),
    ("server", "to serve a folder, write serow DIR"),
    ("start", "to run a settings file, write serow run -c FILE; to serve a folder, serow DIR"),
    ("restart", "to reload the settings file of a server, write serow reload"),
    ("drain", "to stop a server, write serow stop; to drain a server of an upstream, serow upstream drain"),
    ("configtest", "to check a settings file, run serow check -c FILE"),
    ("validate", "to check a settings file, run serow check -c FILE"),
    ("reverse-proxy", "to forward requests to another server, write serow proxy ADDRESS:PORT"),
    ("version", "for the version, write serow --version"),
];

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        _ => None,
    }
}

fn first_line(error: &clap::Error, help: &str) -> String {
    let rendered = error.to_string();
    let line = rendered.lines().next().unwrap_or_default();
    format!("{}; {help}", line.strip_prefix("error: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::{command_error::CommandError, command_line::CommandLine};

    /// Arguments, and the line about them.
    const CASES: [(&[&str], &str); 37] = [
        (&["--port", "9000"], "there is no option --port; write --listen 9000, or --listen :9000 for all addresses"),
        (&["-p9000"], "there is no option -p; write --listen 9000, or --listen :9000 for all addresses"),
        (
            &["public", "--port=70000"],
            "there is no option --port; write --listen 8000, or --listen :8000 for all addresses",
        ),
        (
            &["app", "node", "server.js"],
            "\"server.js\" is an unexpected argument; to run a program, write serow app -- node server.js",
        ),
        (
            &["app", "--processes", "2", "node", "my server.js", "x"],
            "\"my server.js\" is an unexpected argument; to run a program, write serow app -- node 'my server.js' x",
        ),
        (&["app", "config.ru", "x"], "\"x\" is an unexpected argument; see serow app --help"),
        (&["upstream", "drian", "app", "x"], "serow upstream has no command drian; did you mean drain?"),
        (
            &["upstream", "xyzzy"],
            "serow upstream has no command xyzzy; available: list, up, down, drain, weight, add, remove",
        ),
        (&["route", "ad", "a.example", "a:1"], "serow route has no command ad; did you mean add?"),
        (&["config", "get"], "<NAME> is missing; see serow config get --help"),
        (&["ban", "-c", "a.toml"], "-c stands behind a command, as in serow ban list -c a.toml"),
        (&["upstream", "-c", "a.toml"], "-c stands behind a command, as in serow upstream list -c a.toml"),
        (&["--lisen", "80"], "there is no option --lisen; did you mean --listen?"),
        (&["--frobnicate"], "there is no option --frobnicate; see serow files --help"),
        (&["--port", "8000"], "there is no option --port; write --listen 8000, or --listen :8000 for all addresses"),
        (
            &["app", "-w", "4", "config.ru"],
            "there is no option -w; write --processes 4 for workers of an application, --workers 4 for threads of the server",
        ),
        (
            &["run", "a.toml"],
            "\"a.toml\" is an unexpected argument; to name a settings file, write serow run -c a.toml",
        ),
        (
            &["--cert", "a.pem", "--key", "a.key"],
            "there is no option --cert; write --tls CERTIFICATE,KEY, with both files",
        ),
        (&["--root", "public"], "there is no option --root; the folder is the argument, as in serow public"),
        (&["-p8000"], "there is no option -p; write --listen 8000, or --listen :8000 for all addresses"),
        (&["--port=8000"], "there is no option --port; write --listen 8000, or --listen :8000 for all addresses"),
        (&["-c", "serow.toml"], "there is no option -c; a settings file is run by: serow run -c FILE"),
        (
            &["proxy", "a:1", "--balance", "least_conn"],
            "--balance: \"least_conn\" is not one of round-robin, least-requests, latency, hash; did you mean least-requests?",
        ),
        (
            &["proxy", "http://a:9000/api"],
            "UPSTREAM: \"http://a:9000/api\" is a server address with a path; set --add-prefix to put a prefix before paths",
        ),
        (
            &["proxy", "--from", "example.com", "--to", "localhost:9000"],
            "there is no option --from; write --listen ADDRESS:PORT; with HTTPS for a name, --acme NAME",
        ),
        (
            &["proxy", "--to", "localhost:9000"],
            "there is no option --to; the server is the argument, as in serow proxy 127.0.0.1:9000",
        ),
        (&["-x"], "there is no option -x; see serow files --help"),
        (&["a", "b"], r#""b" is an unexpected argument; see serow files --help"#),
        (&["--listen"], "--listen needs a value: --listen <ADDR>"),
        (&["--listing", "maybe"], r#"--listing: "maybe" is not one of on, off, html, json"#),
        (
            &["--compress", "br,deflate"],
            r#"--compress: "br,deflate" is not on, off or a list of codings: write one or several of br,zstd,gzip"#,
        ),
        (&["--workers", "0"], r#"--workers: "0" is not a whole number from 1 to 1024"#),
        (&["--workers", "1", "--workers", "2"], "--workers is given twice; give it once"),
        (&["--hidden", "--hidden"], "--hidden is given twice; give it once"),
        (
            &["--max-head=4x"],
            r#"--max-head: "4x" is not a size: write a number of bytes, as in 500 64k 1M 2G (k, M and G are powers of 1,024)"#,
        ),
        (
            &["--hidden=yes"],
            "unexpected value 'yes' for '--hidden' found; no more were expected; see serow files --help",
        ),
        (&["a", "--", "--b"], r#"there is no option --b; see serow files --help"#),
    ];

    #[test]
    fn errors_of_the_command_line_become_one_line() {
        let unknown = std::iter::once("serow").chain(["help", "nope"]).map(OsString::from);
        match CommandLine::read(unknown) {
            Err(CommandError::Usage(line)) => {
                assert!(line.starts_with("there is no command \"nope\"; there are files, proxy, app"), "{line}");
                assert!(line.contains("reference") && line.contains("man"), "{line}");
            }
            other => panic!("{other:?}"),
        }
        for (arguments, expected) in CASES {
            let arguments = std::iter::once("serow").chain(arguments.iter().copied()).map(OsString::from);
            match CommandLine::read(arguments) {
                Err(CommandError::Usage(line)) => assert_eq!(line, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }
}
