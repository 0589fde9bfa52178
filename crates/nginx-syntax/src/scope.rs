//! Blocks around a directive, from which it inherits.

use std::{collections::HashMap, iter, rc::Rc};

use super::directive::Directive;

/// A block with those around it: `http`, `server`, `location`, `if`.
#[derive(Clone, Debug)]
pub struct Scope<'tree> {
    /// The directives in the block.
    pub directives: &'tree [Directive],
    /// The same by their names: a block may have 10,000 servers beside the few that are looked up.
    by_name: HashMap<&'tree str, Vec<&'tree Directive>>,
    /// The block around.
    parent: Option<Rc<Scope<'tree>>>,
}

impl<'tree> Scope<'tree> {
    /// The outermost block.
    #[must_use]
    pub fn outermost(directives: &'tree [Directive]) -> Rc<Self> {
        Rc::new(Self { directives, by_name: by_name(directives), parent: None })
    }

    /// A block in this one.
    #[must_use]
    pub fn inner(self: &Rc<Self>, opening: &'tree Directive) -> Rc<Self> {
        let directives = opening.children();
        Rc::new(Self { directives, by_name: by_name(directives), parent: Some(Rc::clone(self)) })
    }

    /// The directives with this name in this very block.
    pub fn own(&self, name: &str) -> impl DoubleEndedIterator<Item = &'tree Directive> + use<'tree> {
        let found = self.by_name.get(name).cloned().unwrap_or_default();
        found.into_iter()
    }

    /// The first one with this name in this very block.
    #[must_use]
    pub fn own_one(&self, name: &str) -> Option<&'tree Directive> {
        self.by_name.get(name)?.first().copied()
    }

    /// The blocks from this one outwards.
    fn outwards(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |scope| scope.parent.as_deref())
    }

    /// The directives with one of these names in the nearest block that has any: a set, which replaces that of outer blocks.
    #[must_use]
    pub fn nearest_of(&self, names: &[&str]) -> Vec<&'tree Directive> {
        let of = |scope: &Self| -> Vec<&'tree Directive> {
            let mut found: Vec<_> =
                names.iter().filter_map(|name| scope.by_name.get(name)).flatten().copied().collect();
            found.sort_by_key(|directive| directive.number);
            found
        };
        self.outwards().map(of).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The directives with this name in the nearest block that has any.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&'tree Directive> {
        self.nearest_of(&[name])
    }

    /// The one with this name in the nearest block that has it.
    #[must_use]
    pub fn nearest_one(&self, name: &str) -> Option<&'tree Directive> {
        self.outwards().find_map(|scope| scope.own_one(name))
    }

    /// The directives that are in effect here whose names begin with a text.
    #[must_use]
    pub fn beginning_with(&self, start: &str) -> Vec<&'tree Directive> {
        let mut names: Vec<&str> = self.outwards().flat_map(|scope| scope.by_name.keys().copied()).collect();
        names.retain(|name| name.starts_with(start));
        names.sort_unstable();
        names.dedup();
        names.into_iter().flat_map(|name| self.nearest(name)).collect()
    }

    /// Whether a directive like `sendfile` is on in the nearest block that has it.
    #[must_use]
    pub fn is_on(&self, name: &str) -> Option<bool> {
        self.nearest_one(name).map(|directive| directive.word(0).is_some_and(|word| word.eq_ignore_ascii_case("on")))
    }
}

fn by_name(directives: &[Directive]) -> HashMap<&str, Vec<&Directive>> {
    let mut by_name: HashMap<&str, Vec<&Directive>> = HashMap::new();
    for directive in directives {
        by_name.entry(directive.name()).or_default().push(directive);
    }
    by_name
}
