//! Where something stands in a settings file: `site`, the second of it, `files`, `root`.

use std::fmt;

/// Where something stands in a settings file, from the root on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    steps: Vec<Step>,
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
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { steps }
    }

    /// The steps from the root on.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The key that leads from another place to this one.
    pub fn key_below(&self, other: &Self) -> Option<&str> {
        match self.steps.strip_prefix(other.steps.as_slice())?.first()? {
            Step::Key(key) => Some(key),
            Step::Element(_) => None,
        }
    }

    /// The keys on the way with dots between them, as in the head of a table.
    pub fn header(&self) -> String {
        let keys = self.steps.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Element(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    /// The last key on the way.
    pub fn last_key(&self) -> Option<&str> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Element(_) => None,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Element(element) => write!(f, "[{element}]")?,
            }
        }
        Ok(())
    }
}
