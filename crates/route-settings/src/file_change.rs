//! Changes of an added file: a route is added or removed.

use super::{address::RouteAddress, document::RouteDocument, error::RouteError, target::RouteTarget};

/// A change of the added file of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It has the route already.
    Nothing,
    /// It gets this text.
    Put(String),
    /// It has no content any more.
    Delete,
}

/// The change by which a host gets a route, or the route another target. `text` is that of its added file, if there is one.
///
/// A new route is placed before those that take all its requests or have a shorter path. Comments and other keys of the file stay.
///
/// # Errors
///
/// The file is not one of routes of this host.
pub fn add_route(text: Option<&str>, address: &RouteAddress, target: &RouteTarget) -> Result<FileChange, RouteError> {
    let mut document = RouteDocument::parse(text.unwrap_or_default(), address)?;
    document.add(address, target)?;
    Ok(change(text, &document))
}

/// The change by which a host loses a route. `text` is that of its added file, if there is one.
///
/// # Errors
///
/// The host has no such route, or the file is not one of routes of this host.
pub fn remove_route(text: Option<&str>, address: &RouteAddress) -> Result<FileChange, RouteError> {
    let mut document = RouteDocument::parse(text.unwrap_or_default(), address)?;
    document.remove(address)?;
    Ok(change(text, &document))
}

fn change(before: Option<&str>, document: &RouteDocument) -> FileChange {
    let text = document.text();
    match before {
        Some(_) if document.is_empty() => FileChange::Delete,
        Some(before) if before == text => FileChange::Nothing,
        _ => FileChange::Put(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies a command, as in `add shop.example/api 127.0.0.1:9000`, to the text of a file; `None` if there is
    /// no file.
    fn outcome(before: Option<&str>, command: &str) -> Result<FileChange, RouteError> {
        let words: Vec<_> = command.split(' ').collect();
        let address: RouteAddress = words[1].parse().unwrap();
        match words[0] {
            "add" => add_route(before, &address, &words[2].parse().unwrap()),
            _ => remove_route(before, &address),
        }
    }

    /// Each file has, between lines of dashes: a text, a command, the text afterwards; further commands and
    /// texts may follow.
    #[test]
    fn edits() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/routes");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() > 10);
        for file in files {
            let case = std::fs::read_to_string(&file).unwrap();
            let mut parts = case.split("----------\n");
            let mut before = parts.next().filter(|text| !text.is_empty()).map(str::to_owned);
            for command in parts {
                let (command, expected) = command.split_once('\n').unwrap();
                let found = match outcome(before.as_deref(), command) {
                    Ok(FileChange::Put(text)) => {
                        before = Some(text.clone());
                        text
                    }
                    Ok(FileChange::Nothing) => "nothing\n".to_owned(),
                    Ok(FileChange::Delete) => {
                        before = None;
                        "delete\n".to_owned()
                    }
                    Err(error) => format!("error: {error}\n"),
                };
                assert_eq!(found, expected, "{}: {command}", file.display());
            }
        }
    }
}
