//! Faults of a text, with their places in it.

use std::ops::Range;

use crate::{
    excerpt::{excerpt, position},
    printable::on_one_line,
};

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
    pub fn show(&self, name: &str, text: &str) -> String {
        let fault = on_one_line(&self.text);
        let Some(span) = &self.span else { return format!("{name}: {fault}\n") };
        let at = position(text, span.start);
        format!("{name}:{}:{}: {fault}\n{}\n", at.line, at.column, excerpt(text, span))
    }
}
