//! The resources that applications take from this process.

use serow_assembly::ApplicationHost;
use serow_processes::Output;

use crate::{announcement, descriptors::limit_of_others, supervise::program_launcher};

/// The resources that applications take from this process: its program as their launcher, its error log and the limit
/// of descriptors that it was started with.
pub(crate) fn application_host() -> ApplicationHost {
    let output = Output { take: announcement::of_worker };
    ApplicationHost { launcher: program_launcher(), output, open_files: limit_of_others(), note_attempts: false }
}
