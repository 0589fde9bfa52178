//! The page of the settings file, made of its reference, which is written in a part of Markdown.

use super::{
    examples::capitalised,
    roff::{ManPage, inline},
};

/// `serow.toml.5`
pub(super) fn page() -> ManPage {
    let mut page = ManPage::new("serow.toml", 5, "the settings file of serow run");
    // The title and the note that the text is generated have their own places here.
    let reference = serow_config::reference();
    let body = reference.split_once("-->\n").map_or(reference.as_str(), |(_, body)| body);
    page.heading("DESCRIPTION");
    for block in blocks(body) {
        push(&mut page, &block);
    }
    page.see_also(&[("serow".to_owned(), 1), ("serow-check".to_owned(), 1), ("serow-run".to_owned(), 1)]);
    page
}

/// A part of the text.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Heading(usize, String),
    Paragraph(String),
    /// A key, what is written there, and what it means.
    Key(String, Vec<String>),
    Code(Vec<String>),
    Row(String, String),
}

/// Divides the text.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            blocks.push(Block::Code(lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect()));
        } else if line.starts_with('#') {
            let depth = line.bytes().take_while(|byte| *byte == b'#').count();
            blocks.push(Block::Heading(depth, line[depth..].trim().to_owned()));
        } else if let Some(row) = line.strip_prefix("| ") {
            // The head of a table says nothing that its rows do not.
            let cells = row.trim_end_matches(" |").split_once(" | ");
            if let Some((name, rest)) = cells.filter(|cells| *cells != HEAD && !cells.0.starts_with("---")) {
                blocks.push(Block::Row(plain(name), plain(rest)));
            }
        } else if !line.is_empty() {
            let rest = lines.by_ref().take_while(|line| !line.is_empty());
            let paragraph = std::iter::once(line).chain(rest).collect::<Vec<_>>().join(" ");
            push_paragraph(&mut blocks, &paragraph);
        }
    }
    blocks
}

/// A paragraph that begins with a key in bold is an entry, and those that follow explain it.
fn push_paragraph(blocks: &mut Vec<Block>, paragraph: &str) {
    if let Some((key, value)) = paragraph.strip_prefix("**`").and_then(|text| text.split_once("`**: ")) {
        blocks.push(Block::Key(key.to_owned(), vec![format!("{}.", capitalised(&plain(value)))]));
        return;
    }
    match blocks.last_mut() {
        Some(Block::Key(_, explanation)) if explanation.len() < 2 || !paragraph.ends_with(':') => {
            explanation.push(plain(paragraph));
        }
        _ => blocks.push(Block::Paragraph(plain(paragraph))),
    }
}

fn push(page: &mut ManPage, block: &Block) {
    match block {
        Block::Heading(2, text) => page.heading(&text.replace('`', "")),
        Block::Heading(_, text) => page.subheading(text),
        Block::Paragraph(text) => page.paragraph(text),
        Block::Key(key, explanation) => page.entry(&format!("\\fB{}\\fR", inline(key)), explanation),
        Block::Code(lines) => page.verbatim(lines.iter().map(String::as_str)),
        Block::Row(name, meaning) => page.entry(&inline(name), std::slice::from_ref(meaning)),
    }
}

/// Text without links and without the backslashes that Markdown needs.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        // Only `[text](address)` is a link; `[[site]]` and `[::1]` are not.
        match link.split_once("](").filter(|(name, _)| !name.contains(['[', ']'])) {
            Some((name, after)) => {
                let (address, after) = after.split_once(')').unwrap_or((after, ""));
                plain.push_str(&place(name, address));
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("\\*", "*").replace("\\<", "<").replace("\\\\", "\\")
}

/// The text of a link, or where in the source its target is, if the text is a file's name.
fn place(name: &str, address: &str) -> String {
    match address.strip_prefix("../") {
        Some(path) => format!("`{path}`"),
        None if name == address => format!("docs/{name}"),
        None => name.to_owned(),
    }
}

/// The head of the table of values.
const HEAD: (&str, &str) = ("value", "syntax");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_blocks() {
        let text = "A [link](x.md)\nto [y.md](y.md), [`z`](../a/z) and `[[site]]`.\n\n## Root\n\n**`listen`**: an address\n\nWhere.\n\nDefault: `1`.\n\n```toml\na = 1\n\n```\n";
        let key = ["An address.", "Where.", "Default: `1`."].map(str::to_owned).into();
        let expected = [
            Block::Paragraph("A link to docs/y.md, `a/z` and `[[site]]`.".to_owned()),
            Block::Heading(2, "Root".to_owned()),
            Block::Key("listen".to_owned(), key),
            Block::Code(vec!["a = 1".to_owned(), String::new()]),
        ];
        assert_eq!(blocks(text), expected);
    }
}
