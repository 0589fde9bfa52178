//! Patterns of Lua, matched within a limit of time: a pattern with several repetitions may take longer than anybody
//! waits, and the functions of LuaJIT look at no hook.
//!
//! The syntax is that of Lua 5.1 §5.4.1, with `%f` and `%g` as in LuaJIT.

/// A capture of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// A part of the text, from here to there.
    Text(usize, usize),
    /// A place in the text: `()`.
    Place(usize),
    /// Nothing, since its closing parenthesis is missing.
    Unfinished,
}

/// A capture while the pattern is matched.
#[derive(Clone, Copy, Debug)]
enum Open {
    /// It has begun here.
    Begun(usize),
    Done(Capture),
}

/// A match: where it begins and ends, and its captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) captures: Vec<Capture>,
}

/// Matches a pattern with a text.
pub(super) struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Open>,
    depth: usize,
    steps: u32,
    /// Whether the time is over.
    is_over: &'a dyn Fn() -> bool,
}

type Found = Result<Option<usize>, String>;

impl<'a> Matcher<'a> {
    /// A matcher that ends when the time is over.
    pub(super) fn new(text: &'a [u8], pattern: &'a [u8], is_over: &'a dyn Fn() -> bool) -> Self {
        Self { text, pattern, captures: Vec::new(), depth: 0, steps: 0, is_over }
    }

    /// The first match from here on.
    ///
    /// # Errors
    ///
    /// The pattern is malformed or too complex, or the time is over.
    pub(super) fn find(&mut self, from: usize) -> Result<Option<Match>, String> {
        let is_anchored = self.pattern.first() == Some(&b'^');
        for start in from..=self.text.len() {
            if let Some(found) = self.match_at(start, usize::from(is_anchored))? {
                return Ok(Some(found));
            }
            if is_anchored {
                break;
            }
        }
        Ok(None)
    }

    /// A match that begins here, of the pattern from this place on.
    pub(super) fn match_at(&mut self, start: usize, pattern: usize) -> Result<Option<Match>, String> {
        self.captures.clear();
        let Some(end) = self.run(start, pattern)? else { return Ok(None) };
        let captures = self.captures.iter().map(|capture| match capture {
            Open::Done(capture) => *capture,
            Open::Begun(_) => Capture::Unfinished,
        });
        Ok(Some(Match { start, end, captures: captures.collect() }))
    }

    fn run(&mut self, text: usize, pattern: usize) -> Found {
        if self.depth == MAX_DEPTH {
            return Err("pattern too complex".to_owned());
        }
        self.depth += 1;
        let found = self.follow(text, pattern);
        self.depth -= 1;
        found
    }

    /// Follows the pattern as far as there is nothing to choose.
    fn follow(&mut self, mut text: usize, mut pattern: usize) -> Found {
        loop {
            self.step()?;
            let Some(&first) = self.pattern.get(pattern) else { return Ok(Some(text)) };
            let next = self.pattern.get(pattern + 1).copied();
            match (first, next) {
                (b'(', Some(b')')) => return self.with_capture(Open::Done(Capture::Place(text)), text, pattern + 2),
                (b'(', _) => return self.with_capture(Open::Begun(text), text, pattern + 1),
                (b')', _) => return self.end_capture(text, pattern + 1),
                (b'$', None) => return Ok((text == self.text.len()).then_some(text)),
                (b'%', Some(b'b')) => match self.balanced(text, pattern + 2)? {
                    Some(end) => (text, pattern) = (end, pattern + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => match self.frontier(text, pattern + 2)? {
                    Some(after) => pattern = after,
                    None => return Ok(None),
                },
                (b'%', Some(digit @ b'0'..=b'9')) => match self.repeated(text, digit)? {
                    Some(end) => (text, pattern) = (end, pattern + 2),
                    None => return Ok(None),
                },
                _ => {
                    let after = self.class_end(pattern)?;
                    match self.pattern.get(after) {
                        Some(b'*') => return self.most(text, pattern, after),
                        Some(b'+') => {
                            return if self.is_single(text, pattern, after) {
                                self.most(text + 1, pattern, after)
                            } else {
                                Ok(None)
                            };
                        }
                        Some(b'-') => return self.least(text, pattern, after),
                        Some(b'?') => {
                            if self.is_single(text, pattern, after)
                                && let Some(end) = self.run(text + 1, after + 1)?
                            {
                                return Ok(Some(end));
                            }
                            pattern = after + 1;
                        }
                        _ if self.is_single(text, pattern, after) => (text, pattern) = (text + 1, after),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// As many as possible, and fewer if the rest does not fit.
    fn most(&mut self, text: usize, pattern: usize, after: usize) -> Found {
        let mut count = 0;
        while self.is_single(text + count, pattern, after) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(end) = self.run(text + count, after + 1)? {
                return Ok(Some(end));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// As few as possible.
    fn least(&mut self, mut text: usize, pattern: usize, after: usize) -> Found {
        loop {
            if let Some(end) = self.run(text, after + 1)? {
                return Ok(Some(end));
            }
            if !self.is_single(text, pattern, after) {
                return Ok(None);
            }
            text += 1;
        }
    }

    fn with_capture(&mut self, capture: Open, text: usize, pattern: usize) -> Found {
        if self.captures.len() == MAX_CAPTURES {
            return Err("too many captures".to_owned());
        }
        let before = self.captures.len();
        self.captures.push(capture);
        let found = self.run(text, pattern)?;
        if found.is_none() {
            self.captures.truncate(before);
        }
        Ok(found)
    }

    fn end_capture(&mut self, text: usize, pattern: usize) -> Found {
        let open = self.captures.iter().rposition(|capture| matches!(capture, Open::Begun(_)));
        let Some(number) = open else { return Err("invalid pattern capture".to_owned()) };
        let begun = self.captures[number];
        if let Open::Begun(start) = begun {
            self.captures[number] = Open::Done(Capture::Text(start, text));
        }
        let found = self.run(text, pattern)?;
        if found.is_none() {
            self.captures[number] = begun;
        }
        Ok(found)
    }

    /// `%bxy`: from an x to the y that closes it.
    fn balanced(&mut self, text: usize, pattern: usize) -> Found {
        let (Some(&open), Some(&close)) = (self.pattern.get(pattern), self.pattern.get(pattern + 1)) else {
            return Err("unbalanced pattern".to_owned());
        };
        if self.text.get(text) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for end in text + 1..self.text.len() {
            self.step()?;
            let byte = self.text[end];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(end + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: a place where the set begins.
    fn frontier(&mut self, text: usize, pattern: usize) -> Found {
        if self.pattern.get(pattern) != Some(&b'[') {
            return Err("missing '[' after '%f' in pattern".to_owned());
        }
        let after = self.class_end(pattern)?;
        let before = text.checked_sub(1).and_then(|before| self.text.get(before)).copied().unwrap_or(0);
        let here = self.text.get(text).copied().unwrap_or(0);
        let begins = !self.is_in_set(before, pattern, after - 1) && self.is_in_set(here, pattern, after - 1);
        Ok(begins.then_some(after))
    }

    /// `%1`: the same text as a capture has.
    fn repeated(&mut self, text: usize, digit: u8) -> Found {
        let capture = usize::from(digit).checked_sub(usize::from(b'1')).and_then(|number| self.captures.get(number));
        let Some(Open::Done(capture)) = capture.copied() else { return Err("invalid capture index".to_owned()) };
        // A place is no text: nothing is like it.
        let Capture::Text(start, end) = capture else { return Ok(None) };
        let same = &self.text[start..end];
        Ok(self.text[text..].starts_with(same).then_some(text + same.len()))
    }

    /// Where the class ends that begins here.
    fn class_end(&self, pattern: usize) -> Result<usize, String> {
        match self.pattern.get(pattern) {
            Some(b'%') if pattern + 1 < self.pattern.len() => Ok(pattern + 2),
            Some(b'%') => Err("malformed pattern (ends with '%')".to_owned()),
            Some(b'[') => {
                let mut end = pattern + 1;
                if self.pattern.get(end) == Some(&b'^') {
                    end += 1;
                }
                // The first may be a bracket.
                let mut is_first = true;
                loop {
                    match self.pattern.get(end) {
                        None => return Err("malformed pattern (missing ']')".to_owned()),
                        Some(b']') if !is_first => return Ok(end + 1),
                        Some(b'%') => end += 2,
                        Some(_) => end += 1,
                    }
                    is_first = false;
                }
            }
            _ => Ok(pattern + 1),
        }
    }

    /// Whether there is a character here that is of this class.
    fn is_single(&self, text: usize, pattern: usize, after: usize) -> bool {
        let Some(&byte) = self.text.get(text) else { return false };
        match self.pattern[pattern] {
            b'.' => true,
            b'%' => is_of_class(byte, self.pattern[pattern + 1]),
            b'[' => self.is_in_set(byte, pattern, after - 1),
            other => other == byte,
        }
    }

    /// Whether a character is of the set that begins here; the last is its closing bracket.
    fn is_in_set(&self, byte: u8, begin: usize, last: usize) -> bool {
        let set = &self.pattern[begin + 1..last];
        let (is_positive, mut set) = match set {
            [b'^', rest @ ..] => (false, rest),
            set => (true, set),
        };
        while let Some((&first, rest)) = set.split_first() {
            set = match (first, rest) {
                (b'%', [class, rest @ ..]) => {
                    if is_of_class(byte, *class) {
                        return is_positive;
                    }
                    rest
                }
                (first, [b'-', end, rest @ ..]) => {
                    if (first..=*end).contains(&byte) {
                        return is_positive;
                    }
                    rest
                }
                (first, rest) => {
                    if first == byte {
                        return is_positive;
                    }
                    rest
                }
            };
        }
        !is_positive
    }

    fn step(&mut self) -> Result<(), String> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && (self.is_over)() {
            return Err("the script has reached its limit of time in a pattern".to_owned());
        }
        Ok(())
    }
}

/// Whether a character is of a class: `a` of `%a`.
fn is_of_class(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        // As C's isspace, with the vertical tab.
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is != class.is_ascii_uppercase()
}

/// As LuaJIT: a recursion takes stack.
const MAX_DEPTH: usize = 200;
const MAX_CAPTURES: usize = 32;

/// A few microseconds.
const STEPS_PER_LOOK: u32 = 1024;
