//! Prints the settings for an nginx.conf, and the report on standard error.

use std::{env, error::Error, path::Path};

use serow_import::grammar::disk::Disk;

fn main() -> Result<(), Box<dyn Error>> {
    let main = env::args().nth(1).ok_or("name an nginx.conf")?;
    let main = Path::new(&main);
    let prefix = main.parent().unwrap_or(Path::new("/"));
    let imported = serow_import::nginx(main, prefix, &Disk)?;
    print!("{}", imported.settings);
    eprint!("{}", imported.report);
    Ok(())
}
