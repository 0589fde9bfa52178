//! Which routes of a site a path may match.

use std::ops::Range;

use serow_variables::{Candidates, Expression, LiteralIndex, Literals};

use crate::{path_pattern::PathPattern, site::Route};

/// Which routes of a site a path may match: the others are left out, so it cannot change which route matches first.
#[derive(Debug)]
pub(crate) struct RouteIndex {
    /// Nothing for few routes, each of which is tried then.
    index: Option<LiteralIndex>,
    /// The routes with expressions, in their order.
    with_expressions: Box<[u32]>,
    count: usize,
}

/// The numbers of routes that a path may match, in their order.
#[derive(Debug)]
pub(crate) enum RouteCandidates<'i> {
    All(Range<usize>),
    Some(Candidates<'i>),
}

impl RouteIndex {
    pub(crate) fn new<H>(routes: &[Route<H>]) -> Self {
        let literals = |route: &Route<H>| literals(&route.path, route.conditions.path.as_ref());
        let index = LiteralIndex::of_many(routes.iter().map(literals));
        let with_expressions = (0..).zip(routes).filter(|(_, route)| route.conditions.path.is_some());
        let with_expressions = with_expressions.map(|(number, _)| number).collect();
        Self { index, with_expressions, count: routes.len() }
    }

    /// An index of patterns alone.
    pub(crate) fn of_patterns<'p>(patterns: impl ExactSizeIterator<Item = &'p PathPattern>) -> Self {
        let count = patterns.len();
        Self {
            index: LiteralIndex::of_many(patterns.map(PathPattern::literals)),
            with_expressions: Box::default(),
            count,
        }
    }

    /// An index of these routes, however few they are.
    #[cfg(test)]
    pub(crate) fn of_each<H>(routes: &[Route<H>]) -> Self {
        let literals = routes.iter().map(|route| literals(&route.path, route.conditions.path.as_ref()));
        Self { index: Some(LiteralIndex::new(literals)), ..Self::new(routes) }
    }

    /// No index of so many routes.
    #[cfg(test)]
    pub(crate) fn without_index(count: usize) -> Self {
        Self { index: None, with_expressions: Box::default(), count }
    }

    /// The routes that a path may match, from this one on. If it is a sample, it may match all expressions.
    #[inline]
    pub(crate) fn candidates(&self, path: &[u8], first: usize, is_sample: bool) -> RouteCandidates<'_> {
        match &self.index {
            None => RouteCandidates::All(first..self.count),
            Some(index) => RouteCandidates::Some(self.look_up(index, path, first, is_sample)),
        }
    }

    fn look_up<'i>(&'i self, index: &'i LiteralIndex, path: &[u8], first: usize, is_sample: bool) -> Candidates<'i> {
        let mut candidates = index.candidates(path);
        if is_sample {
            candidates.push(&self.with_expressions);
        }
        candidates.from(u32::try_from(first).unwrap_or(u32::MAX))
    }
}

/// The literals of the paths that match a pattern, and an expression if there is one.
pub(crate) fn literals(pattern: &PathPattern, expression: Option<&Expression>) -> Literals {
    let of_pattern = pattern.literals();
    match expression {
        None => of_pattern,
        Some(expression) => of_pattern.and(&expression.literals()),
    }
}

impl Iterator for RouteCandidates<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        match self {
            Self::All(numbers) => numbers.next(),
            Self::Some(candidates) => candidates.next().map(|number| number as usize),
        }
    }
}
