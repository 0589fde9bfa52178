//! The index of routes leaves out only routes that cannot match: for random routes and paths, the same route is chosen as
//! when each is tried.

use super::*;
use crate::{Conditions, Route, Site, random_routes::Numbers, route_index::RouteIndex};

#[test]
fn an_index_changes_no_choice_of_a_route() {
    let mut numbers = Numbers(41);
    let (mut cases, mut left_out, mut kinds) = (0_u32, 0_usize, [0_u32; 5]);
    for _ in 0..LISTS {
        let list: Vec<Route<()>> = (0..numbers.below(24) + 1).map(|_| numbers.route()).collect();
        let mut indexed = Routes::new(Site::new(list.clone()), &mut Kept::default());
        indexed.index = RouteIndex::of_each(&list);
        let mut linear = Routes::new(Site::new(list), &mut Kept::default());
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
            let kind = match expected {
                Ok(_) => 0,
                Err(Missed::Path) => 1,
                Err(Missed::Method) => 2,
                Err(Missed::Loop(_)) => 3,
                Err(_) => 4,
            };
            kinds[kind] += 1;
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
    // `N` is the number of the route.
    let kinds = [
        (false, "/exact/N"),
        (false, "/prefixN/*"),
        (false, "*.suffixN"),
        (false, "/shop/*/itemN/*"),
        (true, "^/expressionN/[0-9]+$"),
        (true, "(?i)/PAGEN$"),
        (true, "^/(en|de)/[a-z]+/partN/[0-9]+$"),
    ];
    let routes = (0..1_000).flat_map(|number| {
        kinds.map(|(is_expression, path)| {
            let path = path.replace('N', &number.to_string());
            let path_expression = is_expression.then(|| path.parse().unwrap());
            let pattern = if is_expression { PathPattern::any() } else { path.parse().unwrap() };
            let conditions = Conditions { path: path_expression, ..Conditions::default() };
            Route { conditions, ..Route::new(pattern, Action::Handle(())) }
        })
    });
    let routes = Routes::new(Site::new(routes.collect()), &mut Kept::default());
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
