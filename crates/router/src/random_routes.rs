//! Random routes and requests for tests, the same in each run.

use serow_message::{Body, Connection, Headers, Method, Request, RequestHead, Target, Version};
use serow_variables::{Expression, Letters, Scope, ValuePatterns};

use crate::{Action, Conditions, FixedResponse, Methods, PathPattern, Redirect, RewriteTarget, Route, routes::Start};

/// SplitMix64: the same numbers in each run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((number ^ (number >> 31)) % limit as u64) as usize
    }

    pub(crate) fn one<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// Some of these texts, one after another.
    pub(crate) fn several(&mut self, count: usize, texts: &[&str]) -> String {
        (0..self.below(count + 1)).map(|_| self.one(texts)).collect()
    }

    pub(crate) fn is_one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    pub(crate) fn pattern(&mut self) -> PathPattern {
        loop {
            let text = self.several(5, &["/", "/", "*", "a", "b", "ab", "A", ".x", "\u{e4}", "%"]);
            let start = self.one(&["/", "*", "/a", "/b/"]);
            if let Ok(pattern) = format!("{start}{text}").parse() {
                return pattern;
            }
        }
    }

    pub(crate) fn expression(&mut self) -> Option<Expression> {
        let start = self.one(&["", "^", "^/", "(?i)^/", "(?m)^", "(?:^/a|b)"]);
        let parts =
            ["a", "b", "ab", "/", ".", ".*", "(a|ab)", "(?i:B)", "[ab]", "a?", "(?:b/)+", "\\.x", "\\b", "(^|/)"];
        let end = self.one(&["", "$", "/?$", "|^/b", "(?-u:\\xe4)?"]);
        format!("{start}{}{end}", self.several(4, &parts)).parse().ok()
    }

    pub(crate) fn route(&mut self) -> Route<()> {
        let mut path = self.pattern();
        let action = match self.below(10) {
            0 => Action::Rewrite(self.one(&["/a", "/b/*", "/ab", "/b/"]).parse().unwrap()),
            1 => Action::Rewrite(RewriteTarget::with_variables("/b$uri?v=1", &Scope::default()).unwrap()),
            2 => Action::Redirect(Redirect::new(self.one(&["/a/*", "/b"]), 301).unwrap()),
            3 => Action::Respond(FixedResponse::new(200).unwrap()),
            4 => Action::Try(()),
            5 if self.is_one_in(2) => Action::Restart("/a/b".parse().unwrap()),
            _ => Action::Handle(()),
        };
        let mut conditions = Conditions::default();
        if self.is_one_in(3) {
            conditions.path = self.expression();
            path = if self.is_one_in(3) { path } else { PathPattern::any() };
        } else if self.is_one_in(6) {
            path = PathPattern::any_of(vec![path, self.pattern(), self.pattern()]).unwrap();
        }
        if self.is_one_in(6) {
            let patterns = ValuePatterns::parse(&[self.one(&["1", "!1"])], Letters::Exact).unwrap();
            conditions.arguments.push(("v".to_owned(), patterns));
        }
        let methods = Methods::new(if self.is_one_in(5) { &["POST"][..] } else { &[] }).unwrap();
        let name = self.is_one_in(5).then(|| self.one(&["one", "other"]).into());
        Route { conditions, methods, name, ..Route::new(path, action) }
    }

    pub(crate) fn request(&mut self) -> Request {
        let parts = ["/", "/", "a", "b", "ab", "A", ".x", "..", ".", "%2f", "%61", "%C3%A4", "%25", "%2E", "%", "%00"];
        let text = format!("/{}{}", self.several(6, &parts), self.one(&["", "", "?v=1", "?v=2"]));
        let target = Target::parse(text.into(), false).unwrap();
        let method = if self.is_one_in(4) { Method::POST } else { Method::GET };
        let head = RequestHead { method, target, headers: Headers::new(), version: Version::HTTP_11 };
        Request::new(head, Body::empty(), Connection::default())
    }

    pub(crate) fn start(&mut self, routes: usize) -> Start {
        let route = if self.is_one_in(4) { self.below(routes) } else { 0 };
        let name = self.is_one_in(4).then(|| self.below(2));
        Start { route, name, tries: self.is_one_in(2), is_sample: self.is_one_in(8), ..Start::default() }
    }
}
