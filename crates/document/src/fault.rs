//! Faults of a text, with their places in it.

use std::ops::Range;

use crate::{excerpt::excerpt, lines::Lines, printable::on_one_line};

/// Something wrong, and where in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Nothing where it is about the file as a whole.
    pub span: Option<Range<usize>>,
    /// The problem, and what to do about it.
    pub text: String,
}

impl Fault {
    /// The same, in a text that begins at this offset.
    pub fn moved(self, start: usize) -> Self {
        Self { span: self.span.map(|span| span.start + start..span.end + start), ..self }
    }

    /// The same, with offsets from the start of its text.
    pub fn moved_back(&self, start: usize) -> Self {
        let back = |offset: usize| offset.saturating_sub(start);
        Self { span: self.span.as_ref().map(|span| back(span.start)..back(span.end)), text: self.text.clone() }
    }

    /// The fault as it is shown: what and where, and the line of the file.
    pub(crate) fn show(&self, name: &str, text: &str, lines: &Lines) -> String {
        let line = self.line(name, text, lines);
        let excerpt = self.span.as_ref().map(|span| excerpt(text, lines, span) + "\n").unwrap_or_default();
        format!("{line}\n{excerpt}")
    }

    /// The fault and its place, on one line.
    pub(crate) fn line(&self, name: &str, text: &str, lines: &Lines) -> String {
        let fault = on_one_line(&self.text);
        let Some(span) = &self.span else { return format!("{name}: {fault}") };
        let at = lines.position(text, span.start);
        format!("{name}:{}:{}: {fault}", at.line, at.column)
    }
}
