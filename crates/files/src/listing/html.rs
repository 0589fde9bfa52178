//! A listing as a page: one file, no script but that of uploads, light or dark as the reader's system.

use serow_message::percent::encode_path;

use super::{
    entries::Entry,
    order::{Column, Order},
    time::Moment,
    upload,
};

/// Everything before the rows.
pub(super) fn begin(output: &mut Vec<u8>, path: &str, order: Order, entries: &[Entry], is_cut: bool, has_form: bool) {
    let title = decoded(path);
    let folders = entries.iter().filter(|entry| entry.is_folder).count();
    let files = entries.len() - folders;
    let bytes: u64 = entries.iter().map(|entry| entry.size).sum();
    write(output, &["<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"]);
    write(output, &["<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"]);
    write(output, &["<meta name=\"color-scheme\" content=\"light dark\">\n<title>"]);
    escape(output, title.as_bytes());
    let (style, symbols) = if has_form { (upload::STYLE, upload::SYMBOLS) } else { (STYLE, "") };
    write(output, &["</title>\n<style>\n", style, "</style>\n</head>\n<body>\n", SYMBOLS, symbols, "<header>\n<h1>"]);
    crumbs(output, path);
    write(output, &["</h1>\n<p>", &count(folders, "folder"), ", ", &count(files, "file")]);
    if files > 0 {
        write(output, &[", ", &human_size(bytes)]);
    }
    write(output, &["</p>\n</header>\n"]);
    if is_cut {
        let limit = entries.len().to_string();
        write(output, &["<p class=\"cut\">This folder holds more; only ", &limit, " entries are shown.</p>\n"]);
    }
    if has_form {
        write(output, &[upload::FORM]);
    }
    write(output, &["<table>\n<thead><tr>"]);
    for (column, label) in [(Column::Name, "Name"), (Column::Size, "Size"), (Column::Modified, "Modified (UTC)")] {
        column_head(output, column, label, order);
    }
    write(output, &["</tr></thead>\n<tbody>\n"]);
    if let Some(&(place, _)) = names(path).last() {
        let up = "../".repeat(path.matches('/').count().saturating_sub(place));
        write(
            output,
            &["<tr class=\"up\"><td><a href=\"", &up, "\">", &icon("up"), "<span>Parent folder</span></a></td>"],
        );
        write(output, &["<td></td><td></td></tr>\n"]);
    }
    if entries.is_empty() {
        write(output, &["<tr class=\"empty\"><td colspan=\"3\">This folder is empty.</td></tr>\n"]);
    }
}

/// One entry.
pub(super) fn row(output: &mut Vec<u8>, entry: &Entry) {
    let slash = if entry.is_folder { "/" } else { "" };
    // Without `./`, a name like `a:b` would be an address of its own (RFC 3986 §4.2).
    write(output, &["<tr><td><a href=\"./"]);
    encode_path(&entry.name, output);
    write(output, &[slash, "\">", &icon(if entry.is_folder { "folder" } else { "file" }), "<span>"]);
    escape(output, &entry.name);
    write(output, &[slash, "</span></a></td><td>"]);
    if !entry.is_folder {
        write(output, &["<data value=\"", &entry.size.to_string(), "\">", &human_size(entry.size), "</data>"]);
    }
    let modified = Moment::new(entry.modified);
    write(output, &["</td><td><time datetime=\"", &modified.rfc_3339(), "\">"]);
    write(output, &[&modified.to_the_minute(), "</time></td></tr>\n"]);
}

/// Everything behind the rows.
pub(super) fn end(output: &mut Vec<u8>, has_form: bool) {
    write(output, &["</tbody>\n</table>\n"]);
    if has_form {
        write(output, &["<script>", upload::SCRIPT, "</script>\n"]);
    }
    write(output, &["</body>\n</html>\n"]);
}

/// The path, each folder of it a link.
fn crumbs(output: &mut Vec<u8>, path: &str) {
    let names = names(path);
    let up = |levels: usize| if levels == 0 { "./".to_owned() } else { "../".repeat(levels) };
    let depth = path.matches('/').count().saturating_sub(1);
    write(output, &["<a href=\"", &up(depth), "\" aria-label=\"root\">", &icon("home"), "</a>"]);
    for (index, &(place, name)) in names.iter().enumerate() {
        write(output, &["<i>/</i>"]);
        let name = decoded(name);
        if index + 1 == names.len() {
            write(output, &["<b>"]);
            escape(output, name.as_bytes());
            write(output, &["</b>"]);
        } else {
            write(output, &["<a href=\"", &up(depth.saturating_sub(place)), "\">"]);
            escape(output, name.as_bytes());
            write(output, &["</a>"]);
        }
    }
}

/// The names in a path, and how many slashes stand before each: repeated ones mean nothing here, but for a browser each
/// is a level (RFC 3986 §5.2.4).
fn names(path: &str) -> Vec<(usize, &str)> {
    path.split('/').enumerate().filter(|(_, name)| !name.is_empty()).collect()
}

/// A heading that sorts: by its column, and the other way round if it is sorted so already.
fn column_head(output: &mut Vec<u8>, column: Column, label: &str, order: Order) {
    let is_chosen = order.column == column;
    let (direction, arrow, spoken) = match (is_chosen, order.descending) {
        (true, false) => ("desc", " <i>↑</i>", " aria-sort=\"ascending\""),
        (true, true) => ("asc", " <i>↓</i>", " aria-sort=\"descending\""),
        // The largest and the newest are what people look for.
        (false, _) if column != Column::Name => ("desc", "", ""),
        (false, _) => ("asc", "", ""),
    };
    let query = format!("?sort={}&amp;order={direction}", column.word());
    write(output, &["<th", spoken, "><a href=\"", &query, "\">", label, arrow, "</a></th>"]);
}

fn icon(name: &str) -> String {
    format!("<svg><use href=\"#{name}\"/></svg>")
}

/// Escapes text for elements and attributes. Names that are not UTF-8 show a replacement character.
fn escape(output: &mut Vec<u8>, text: &[u8]) {
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '&' => write(output, &["&amp;"]),
            '<' => write(output, &["&lt;"]),
            '>' => write(output, &["&gt;"]),
            '"' => write(output, &["&quot;"]),
            '\'' => write(output, &["&#39;"]),
            _ => write(output, &[character.encode_utf8(&mut [0; 4])]),
        }
    }
}

/// A path of the request as people read it. It was decoded once already, so it can be.
fn decoded(path: &str) -> String {
    crate::request_path::readable(path)
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A size in units of 1024 with three digits at most: `999 B`, `1.0 KB`, `12 MB`.
fn human_size(bytes: u64) -> String {
    let mut unit = 0;
    let mut size = bytes as f64;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && size < 9.95);
    format!("{size:.decimals$} {}", UNITS[unit])
}

fn write(output: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        output.extend_from_slice(part.as_bytes());
    }
}

/// As file managers write them.
const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];

const STYLE: &str = include_str!("style.css");

const SYMBOLS: &str = include_str!("symbols.svg");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (1024, "1.0 KB"),
            (10_200, "10 KB"),
            (1_048_576, "1.0 MB"),
            (1_500_000_000, "1.4 GB"),
            (u64::MAX, "16 EB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human_size(bytes), text, "{bytes}");
        }
    }

    fn page(path: &str, query: &str, entries: &[Entry]) -> String {
        let mut output = Vec::new();
        begin(&mut output, path, Order::of(query), entries, false, false);
        entries.iter().for_each(|entry| row(&mut output, entry));
        end(&mut output, false);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn names_are_escaped_where_they_stand() {
        let entry = Entry { name: b"<b>\"x'&: %\xff".to_vec(), is_folder: false, size: 1, modified: 0 };
        let page = page("/%3Cscript%3E/", "", &[entry]);
        assert!(page.contains("href=\"./%3Cb%3E%22x%27%26:%20%25%FF\""), "{page}");
        assert!(page.contains("<span>&lt;b&gt;&quot;x&#39;&amp;: %\u{fffd}</span>"), "{page}");
        assert!(page.contains("<title>/&lt;script&gt;/</title>"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }

    #[test]
    fn links_lead_up_and_sort() {
        let root = page("/", "", &[]);
        assert!(!root.contains("Parent folder") && root.contains("This folder is empty"));
        assert!(root.contains("?sort=name&amp;order=desc") && root.contains("?sort=size&amp;order=desc"));
        let deep = page("/a/b/c/", "sort=size&order=desc", &[]);
        assert!(deep.contains("href=\"../\"><svg") && deep.contains("<a href=\"../../\">a</a>"), "{deep}");
        let doubled = page("//a///b//", "", &[]);
        assert!(doubled.contains("href=\"../../\"><svg"), "the parent: {doubled}");
        assert!(doubled.contains("<a href=\"../../../../\">a</a>") && doubled.contains("<b>b</b>"), "{doubled}");
        assert!(doubled.contains("href=\"../../../../../../\" aria-label=\"root\""), "{doubled}");
        assert!(page("", "", &[]).contains("href=\"./\" aria-label=\"root\""));
        assert!(deep.contains("<b>c</b>") && deep.contains("?sort=size&amp;order=asc"));
    }
}
