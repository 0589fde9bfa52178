//! Finds applications and sites in a folder that [Serow](https://serow.example) can run or serve, and writes a settings file for
//! them. Files are read, and nothing is executed.
//!
//! | subject | file |
//! | --- | --- |
//! | applications, and commands that run them; Rack and PSGI, whose files have conventional names | `applications.rs` |
//! | Django and other Python | `python.rs` |
//! | PHP | `php.rs` |
//! | Node.js, Procfile | `programs.rs` |
//! | static sites | `static_folder.rs` |
//! | source code that Serow runs only when it is built, or behind another program | `sources.rs` |
//! | all of a folder, and the settings file for it | `folder_contents.rs`; `settings_text.rs` |
//! | texts of files | `text_file.rs` |
#![forbid(unsafe_code)]

mod applications;
mod folder_contents;
mod php;
mod programs;
mod python;
mod settings_text;
mod sources;
mod static_folder;
mod text_file;

pub use self::{
    applications::{FoundApplication, Start, applications, quoted},
    folder_contents::FolderContents,
    sources::{FoundSources, sources},
};
