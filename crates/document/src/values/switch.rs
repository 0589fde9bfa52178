//! Something that is on or off.

use clap::ValueEnum;

use super::{Unquoted, choice};

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is done.
    #[value(help = None)]
    On,
    /// It is not.
    #[value(help = None)]
    Off,
}

choice!(Switch, "Switch", Unquoted::Switches);

impl Switch {
    /// Whether it is done.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}
