//! Options of a folder that mean nothing together.

use crate::{
    SettingError,
    options::{CachingOptions, FolderOptions, ListingChoice, SymlinksChoice, WriteChoice},
};

/// Refuses options of a folder that mean nothing together.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn folder(options: &FolderOptions) -> Result<(), SettingError> {
    let FolderOptions { content, caching } = options;
    if content.write != WriteChoice::Off && !content.rewrite.is_empty() {
        let text = "`write` and `rewrite` cannot be combined: clients could not find what they have uploaded";
        return Err(SettingError::new("write", text));
    }
    if content.quota.is_some() && content.write == WriteChoice::Off {
        let text = "`quota` limits what clients upload, which `write` has to allow, as in write = \"put\"";
        return Err(SettingError::new("quota", text));
    }
    let leaves = matches!(content.symlinks, SymlinksChoice::Owner | SymlinksChoice::All);
    if content.write != WriteChoice::Off && leaves {
        let text = "`write` and `symlinks` cannot be combined like this: links would lead clients out of the folder that \
                    they may change; write symlinks = \"within\", or a route of its own without `write`";
        return Err(SettingError::new("symlinks", text));
    }
    if content.write == WriteChoice::Form && !matches!(content.listing, ListingChoice::On | ListingChoice::Html) {
        let text =
            "`write` = \"form\" needs `listing` as a page, which has the form: leave `listing` out, or write \"put\"";
        return Err(SettingError::new("write", text));
    }
    freshness(caching)
}

fn freshness(options: &CachingOptions) -> Result<(), SettingError> {
    let without_pattern = options.cache_control.iter().filter(|rule| rule.pattern.is_none()).count()
        + options.expires.iter().filter(|rule| rule.pattern.is_none()).count();
    if without_pattern > 1 {
        let text = "`expires` and `cache-control`: only one may be without a pattern, since it is for all other paths";
        return Err(SettingError::new("expires", text));
    }
    Ok(())
}
