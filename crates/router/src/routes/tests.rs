//! The index of routes leaves out only routes that cannot match: for random routes and paths, the same route is chosen as
//! when each is tried.

use serow_message::{Connection, Headers, Target, Version};
use serow_variables::{Letters, Scope, ValuePatterns};

use super::*;
use crate::{Conditions, Redirect, RewriteTarget, Route, Site, route_index::RouteIndex};

/// SplitMix64: the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((number ^ (number >> 31)) % limit as u64) as usize
    }

    fn one<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// Some of these texts, one after another.
    fn several(&mut self, count: usize, texts: &[&str]) -> String {
        (0..self.below(count + 1)).map(|_| self.one(texts)).collect()
    }

    fn is_one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    fn pattern(&mut self) -> PathPattern {
        loop {
            let text = self.several(5, &["/", "/", "*", "a", "b", "ab", "A", ".x", "\u{e4}", "%"]);
            let start = self.one(&["/", "*", "/a", "/b/"]);
            if let Ok(pattern) = format!("{start}{text}").parse() {
                return pattern;
            }
        }
    }

    fn expression(&mut self) -> Option<Expression> {
        let start = self.one(&["", "^", "^/", "(?i)^/", "(?m)^", "(?:^/a|b)"]);
        let parts =
            ["a", "b", "ab", "/", ".", ".*", "(a|ab)", "(?i:B)", "[ab]", "a?", "(?:b/)+", "\\.x", "\\b", "(^|/)"];
        let end = self.one(&["", "$", "/?$", "|^/b", "(?-u:\\xe4)?"]);
        format!("{start}{}{end}", self.several(4, &parts)).parse().ok()
    }

    fn route(&mut self) -> Route<()> {
        let mut path = self.pattern();
        let action = match self.below(10) {
            0 => Action::Rewrite(self.one(&["/a", "/b/*", "/ab", "/b/"]).parse().unwrap()),
            1 => Action::Rewrite(RewriteTarget::with_variables("/b$uri?v=1", &Scope::default()).unwrap()),
            2 => Action::Redirect(Redirect::new(self.one(&["/a/*", "/b"]), 301).unwrap()),
            3 => Action::Respond(FixedResponse::new(200).unwrap()),
            4 => Action::Try(()),
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

    fn request(&mut self) -> Request {
        let parts = ["/", "/", "a", "b", "ab", "A", ".x", "..", ".", "%2f", "%61", "%C3%A4", "%25", "%2E", "%", "%00"];
        let text = format!("/{}{}", self.several(6, &parts), self.one(&["", "", "?v=1", "?v=2"]));
        let target = Target::parse(text.into(), false).unwrap();
        let method = if self.is_one_in(4) { Method::POST } else { Method::GET };
        let head = RequestHead { method, target, headers: Headers::new(), version: Version::HTTP_11 };
        Request::new(head, Body::empty(), Connection::default())
    }

    fn start(&mut self, routes: usize) -> Start {
        let route = if self.is_one_in(4) { self.below(routes) } else { 0 };
        let name = self.is_one_in(4).then(|| self.below(2));
        Start { route, name, tries: self.is_one_in(2), is_sample: self.is_one_in(8), ..Start::default() }
    }
}

#[test]
fn an_index_changes_no_choice_of_a_route() {
    let mut numbers = Numbers(41);
    let (mut cases, mut left_out, mut kinds) = (0_u32, 0_usize, [0_u32; 4]);
    for _ in 0..LISTS {
        let list: Vec<Route<()>> = (0..numbers.below(24) + 1).map(|_| numbers.route()).collect();
        let mut indexed = Routes::new(Site::new(list.clone()), &mut Vec::new());
        indexed.index = RouteIndex::of_each(&list);
        let mut linear = Routes::new(Site::new(list), &mut Vec::new());
        linear.index = RouteIndex::without_index(linear.entries.len());
        for _ in 0..REQUESTS {
            let (request, start) = (numbers.request(), numbers.start(linear.entries.len()));
            let mut room = Room::new();
            let Ok(path) = clean_path::of(&request.target, &mut room) else { continue };
            let nobody = TrustedProxies::default();
            let client = RequestClient::new(&nobody);
            let choose = |routes: &Routes| {
                let taken = routes.find(path, &request, &client, start)?;
                let query = taken.path.query().map(str::to_owned);
                Ok((taken.route, taken.path.as_bytes().to_vec(), query))
            };
            let (chosen, expected) = (choose(&indexed), choose(&linear));
            assert_eq!(chosen, expected, "{} from {start:?} in {:#?}", path.escape_ascii(), linear.entries);
            kinds[expected.as_ref().map_or_else(|missed: &Missed| 1 + (*missed as usize).min(2), |_| 0)] += 1;
            let candidates = |routes: &Routes| routes.index.candidates(path, 0, false).count();
            left_out += candidates(&linear) - candidates(&indexed);
            cases += 1;
        }
    }
    // The cases are such that all may happen.
    assert!(cases > LISTS * REQUESTS / 2 && left_out > cases as usize * 3, "{cases} {left_out}");
    assert!(kinds.iter().all(|count| *count > cases / 100), "{kinds:?}");
}

#[test]
fn of_very_many_routes_only_those_with_the_literals_of_a_path_are_tried() {
    let count = 1_000;
    let kinds: [fn(usize) -> (String, Option<String>); 7] = [
        |number| (format!("/exact/{number}"), None),
        |number| (format!("/prefix{number}/*"), None),
        |number| (format!("*.suffix{number}"), None),
        |number| (format!("/shop/*/item{number}/*"), None),
        |number| ("/*".to_owned(), Some(format!("^/expression{number}/[0-9]+$"))),
        |number| ("/*".to_owned(), Some(format!("(?i)/PAGE{number}$"))),
        |number| ("/*".to_owned(), Some(format!("^/(en|de)/[a-z]+/part{number}/[0-9]+$"))),
    ];
    let routes = (0..count).flat_map(|number| {
        kinds.map(|kind| {
            let (path, expression) = kind(number);
            let path_expression = expression.map(|text| text.parse().unwrap());
            let conditions = Conditions { path: path_expression, ..Conditions::default() };
            Route { conditions, ..Route::new(path.parse().unwrap(), Action::Handle(())) }
        })
    });
    let routes = Routes::new(Site::new(routes.collect()), &mut Vec::new());
    for (kind, path) in [
        "/exact/77",
        "/prefix77/a/b",
        "/a/b.suffix77",
        "/shop/a/item77/b",
        "/expression77/1",
        "/x/page77",
        "/en/a/part77/1",
    ]
    .into_iter()
    .enumerate()
    {
        let candidates: Vec<_> = routes.index.candidates(path.as_bytes(), 0, false).collect();
        assert_eq!(candidates, [77 * kinds.len() + kind], "{path}");
    }
    assert_eq!(routes.index.candidates(b"/other", 0, false).count(), 0);
}

const LISTS: u32 = 600;
const REQUESTS: u32 = 500;
