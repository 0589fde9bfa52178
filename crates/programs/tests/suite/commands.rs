//! Programs that serve HTTP as clients see them, through servers in this process.

mod command;
mod program_crashes;
