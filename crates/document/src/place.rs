//! Where something stands in a settings file: `site`, the second of it, `files`, `root`.

use std::{fmt, iter, rc::Rc};

/// Where something stands in a settings file, from the root on. A place shares the steps before its last one with the
/// places beside it: a file has many of them, and each table that is read makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Nothing at the root.
    last: Option<Rc<LastStep>>,
}

/// The last step to a place.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LastStep {
    from: Place,
    step: Step,
}

/// One step deeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into a table, to this key.
    Key(String),
    /// Into an array, to the element with this number, from 0.
    Element(usize),
}

impl Place {
    /// The place of a key below this one.
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.below(Step::Key(key.into()))
    }

    /// The place of an element below this one.
    pub fn element(&self, number: usize) -> Self {
        self.below(Step::Element(number))
    }

    fn below(&self, step: Step) -> Self {
        Self { last: Some(Rc::new(LastStep { from: self.clone(), step })) }
    }

    /// The steps from the root on.
    pub fn steps(&self) -> Vec<&Step> {
        let mut steps: Vec<_> = self.steps_back().collect();
        steps.reverse();
        steps
    }

    /// The steps from the last one to the root.
    pub fn steps_back(&self) -> impl Iterator<Item = &Step> {
        iter::successors(self.last.as_deref(), |step| step.from.last.as_deref()).map(|last| &last.step)
    }

    /// The key that leads from another place to this one.
    pub fn key_below(&self, other: &Self) -> Option<&str> {
        let mut places = iter::successors(self.last.as_deref(), |step| step.from.last.as_deref());
        match &places.find(|last| last.from == *other)?.step {
            Step::Key(key) => Some(key),
            Step::Element(_) => None,
        }
    }

    /// The keys on the way with dots between them, as in the head of a table.
    pub fn header(&self) -> String {
        self.steps().into_iter().filter_map(Step::as_key).collect::<Vec<_>>().join(".")
    }

    /// The last key on the way.
    pub fn last_key(&self) -> Option<&str> {
        self.steps_back().find_map(Step::as_key)
    }
}

impl Step {
    fn as_key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Element(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps().into_iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Element(element) => write!(f, "[{element}]")?,
            }
        }
        Ok(())
    }
}
