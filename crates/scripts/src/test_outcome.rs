//! The outcome of a case of a test of scripts.

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The name of the case.
    pub name: String,
    /// The differences from the expectations of the case, a line each; none if it passed.
    pub problems: Vec<String>,
}
