//! The text behind the options in the help of a command, such as examples and signals.

use super::roff::{ManPage, escaped, inline};

/// Adds the sections of such a text. A line that ends with a colon is a heading, if it is the first or after an empty
/// line. Below it, a line with two spaces is a term, whose explanation follows after more spaces, or on the next lines,
/// further to the right.
pub(super) fn push(page: &mut ManPage, text: &str) {
    let mut term: Option<(String, Vec<String>)> = None;
    let mut can_be_heading = true;
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        if depth > 2 {
            term.iter_mut().for_each(|(_, lines)| lines.push(line.trim().to_owned()));
            continue;
        }
        finish(page, term.take());
        match (depth, line.strip_suffix(':').filter(|_| can_be_heading)) {
            (2, _) => {
                let (name, explanation) = line[2..].split_once("  ").unwrap_or((&line[2..], ""));
                term = Some((name.to_owned(), vec![explanation.trim().to_owned()]));
            }
            (_, Some(heading)) => push_heading(page, heading),
            _ if !line.is_empty() => page.paragraph(line),
            _ => {}
        }
        can_be_heading = line.is_empty();
    }
    finish(page, term);
}

/// Adds a heading, which ends at a comma or semicolon; the rest, too long for a heading, becomes a paragraph.
fn push_heading(page: &mut ManPage, text: &str) {
    match text.split_once([',', ';']) {
        Some((heading, rest)) => {
            page.heading(heading);
            page.paragraph(&format!("{}:", capitalised(rest.trim())));
        }
        None => page.heading(text),
    }
}

fn finish(page: &mut ManPage, term: Option<(String, Vec<String>)>) {
    let Some((name, lines)) = term else { return };
    let explanation = lines.join(" ").trim().to_owned();
    match explanation.is_empty() {
        _ if name == "serow" || name.starts_with("serow ") => page.example(&name, &explanation),
        false => page.entry(&format!("\\fB{}\\fR", escaped(&name)), &[explanation]),
        true => page.paragraph(&name),
    }
}

/// Text that begins a sentence.
pub(super) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// The name of another page in running text.
pub(super) fn page_name(name: &str, section: u8) -> String {
    format!("\\fB{}\\fR({section})", inline(name))
}
