//! What became of a case of a test of scripts.

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The name of the case.
    pub name: String,
    /// What differs from what the case expects, a line each; none if it passed.
    pub problems: Vec<String>,
}
