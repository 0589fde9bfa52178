//! Directives as the text of a configuration file, one on a line.

use std::fmt::Write as _;

use serow_nginx_syntax::directive::Directive;

/// The text of a configuration, and the number of the directive on each of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) text: String,
    /// The directive of each line, from the first; nothing for braces.
    pub(super) lines: Vec<Option<usize>>,
}

impl Printed {
    /// The text of directives, where `change` may put other words in the place of those of a directive.
    pub(super) fn of(directives: &[Directive], change: &impl Fn(&str, &str) -> Option<String>) -> Self {
        let mut printed = Self::default();
        printed.append(directives, 0, change);
        printed
    }

    /// The directive on a line, from 1.
    pub(super) fn directive_of(&self, line: usize) -> Option<usize> {
        self.lines.get(line.checked_sub(1)?).copied().flatten()
    }

    fn append(&mut self, directives: &[Directive], depth: usize, change: &impl Fn(&str, &str) -> Option<String>) {
        for directive in directives {
            let mut line = format!("{:width$}{}", "", quoted(directive.name()), width = depth * 4);
            for word in directive.texts() {
                let changed = change(directive.name(), word);
                let _ = write!(line, " {}", quoted(changed.as_deref().unwrap_or(word)));
            }
            match &directive.block {
                None => self.line(&format!("{line};"), Some(directive.number)),
                Some(block) => {
                    self.line(&format!("{line} {{"), Some(directive.number));
                    self.append(block, depth + 1, change);
                    self.line(&format!("{:width$}}}", "", width = depth * 4), None);
                }
            }
        }
    }

    fn line(&mut self, line: &str, directive: Option<usize>) {
        self.text.push_str(line);
        self.text.push('\n');
        // A word may contain line feeds.
        for _ in 0..line.matches('\n').count() {
            self.lines.push(directive);
        }
        self.lines.push(directive);
    }
}

/// A word in quotes, if it needs them.
fn quoted(word: &str) -> String {
    let is_special = |byte: u8| byte <= b' ' || matches!(byte, b';' | b'{' | b'}' | b'"' | b'\'' | b'\\' | b'#');
    if !word.is_empty() && !word.bytes().any(is_special) {
        return word.to_owned();
    }
    let mut text = String::with_capacity(word.len() + 2);
    text.push('"');
    for letter in word.chars() {
        if matches!(letter, '"' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    fn words(directives: &[Directive]) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for directive in directives {
            all.push(std::iter::once(directive.name()).chain(directive.texts()).map(str::to_owned).collect());
            all.extend(words(directive.children()));
        }
        all
    }

    #[test]
    fn written_words_are_read_as_the_same_words() {
        let text = r#"a 'b c' "d\"e" f\.g; if ($x ~ "^/a{2}\\d$") { return 200 ""; } m { "~*^(\d+)\s" 'x\ny'; # no
            h ${v}z '#'; }"#;
        let directives = memory::directives(text);
        let printed = Printed::of(&directives, &|_, _| None);
        let again = memory::directives(&printed.text);
        assert_eq!(words(&directives), words(&again), "{}", printed.text);
    }

    #[test]
    fn lines_lead_to_directives() {
        let directives = memory::directives("a; b { c 'x\ny'; d; }");
        let printed = Printed::of(&directives, &|_, _| None);
        let lines: Vec<_> = (1..=7).map(|line| printed.directive_of(line)).collect();
        assert_eq!(lines, [Some(0), Some(1), Some(2), Some(2), Some(3), None, None]);
    }
}
