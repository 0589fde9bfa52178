//! How a folder is served.

use serow_config::{
    SettingError, checks,
    options::{CachingOptions, ContentOptions, FolderOptions, ListingChoice, SymlinksChoice, WriteChoice},
};
use serow_files::{
    CacheLimits, Compression, FilesError, FilesSettings, Freshness, FreshnessRule, Hidden, Listing, Pattern, Rewrite,
    Sensitive, Symlinks,
};
use serow_webdav::{WriteMode, WriteSettings};

/// The changes that clients may make in a folder; `None` if they may only read.
pub fn write_settings(content: &ContentOptions) -> Option<WriteSettings> {
    let mode = match content.write {
        WriteChoice::Off => return None,
        WriteChoice::Form => WriteMode::Form,
        WriteChoice::Put => WriteMode::Put,
        WriteChoice::Dav => WriteMode::Dav,
    };
    Some(WriteSettings { mode, quota: content.quota.map(|quota| quota.0) })
}

/// How a folder is served, where so many of its files may be kept open.
pub fn folder_settings(options: FolderOptions, cached_files: usize) -> Result<FilesSettings, SettingError> {
    checks::folder(&options)?;
    let FolderOptions { content, caching } = options;
    let upload_form = content.write == WriteChoice::Form;
    Ok(FilesSettings {
        upload_form,
        compression: compression(&content),
        cache: cache(&caching, cached_files, content.write),
        freshness: freshness(caching),
        index: content.index,
        extensions: content.extensions,
        listing: match content.listing {
            ListingChoice::On => Listing::Negotiated,
            ListingChoice::Off => Listing::Off,
            ListingChoice::Html => Listing::Html,
            ListingChoice::Json => Listing::Json,
        },
        listing_limit: content.listing_limit.in_memory(),
        media_types: content.media_type.into_iter().map(|rule| (rule.ending, rule.media_type)).collect(),
        default_media_type: content.default_type,
        precompressed: match upload_form {
            // Otherwise page.html.gz, which anybody may upload, would be sent in place of page.html.
            true => Vec::new(),
            false => content.precompressed.or(FilesSettings::default().precompressed),
        },
        rewrite: content.rewrite.iter().map(|rule| Rewrite::new(&rule.from, &rule.to)).collect(),
        fallback: content.spa,
        not_found: content.not_found,
        hidden: if content.hidden { Hidden::Serve } else { Hidden::Refuse },
        symlinks: match content.symlinks {
            SymlinksChoice::Within => Symlinks::WithinRoot,
            SymlinksChoice::Owner => Symlinks::SameOwner,
            SymlinksChoice::All => Symlinks::All,
            SymlinksChoice::None => Symlinks::Refuse,
        },
        // A folder that clients fill is theirs: what they have sent, they get.
        sensitive: match content.sensitive || content.write != WriteChoice::Off {
            true => Sensitive::Serve,
            false => Sensitive::Refuse,
        },
        zero_copy: content.sendfile.is_on(),
        place: String::new(),
    })
}

fn compression(options: &ContentOptions) -> Option<Compression> {
    let (smallest, largest) = (options.compress_smallest.0, options.compress_largest.0);
    let defaults = Compression::default();
    let codings = options.compress.clone().or(defaults.codings);
    (!codings.is_empty()).then_some(Compression { codings, smallest, largest, ..defaults })
}

fn cache(options: &CachingOptions, cached_files: usize, write: WriteChoice) -> CacheLimits {
    let defaults = CacheLimits::default();
    CacheLimits {
        entries: options.cache_entries.in_memory(),
        open_files: cached_files,
        bytes: options.cache_memory.in_memory(),
        body: options.cache_largest.0,
        // A user who uploads a file looks at it next.
        fresh_for: if write == WriteChoice::Off { defaults.fresh_for } else { 0 },
    }
}

/// Rules with a pattern first, in their order, those in words before those in durations; then the one without.
fn freshness(options: CachingOptions) -> Vec<FreshnessRule> {
    let in_words = options.cache_control.into_iter().map(|rule| (rule.pattern, Freshness::Directives(rule.directives)));
    let durations = options.expires.into_iter().map(|rule| (rule.pattern, Freshness::For(rule.span.0)));
    let (mut rules, mut without_pattern) = (Vec::new(), Vec::new());
    for (pattern, freshness) in in_words.chain(durations) {
        match pattern {
            Some(pattern) => rules.push(FreshnessRule { pattern: Pattern::new(&pattern), freshness }),
            None => without_pattern.push(FreshnessRule { pattern: Pattern::new("*"), freshness }),
        }
    }
    rules.append(&mut without_pattern);
    rules
}

/// The error of the library about the settings of a folder; `None` if it is about the folder itself.
pub fn folder_error(error: &FilesError) -> Option<SettingError> {
    let (setting, value, advice) = match error {
        FilesError::Path { setting: "index", value } => ("index", value, "give a name, without a folder"),
        FilesError::Path { setting: "extensions", value } => {
            ("extensions", value, "give an ending with its dot, as in .html")
        }
        FilesError::Path { setting, value } => {
            (*setting, value, "give the path of a file below the served folder, without '..'")
        }
        FilesError::Text { setting, value } => {
            (*setting, value, "leave out control characters, since it becomes a header field")
        }
        _ => return None,
    };
    let key = match setting {
        "fallback" => "spa",
        "not_found" => "not-found",
        "media_types" => "type",
        "default_media_type" => "default-type",
        "freshness" => "cache-control",
        other => other,
    };
    Some(SettingError::new(key, format!("`{key}` {value:?}: {advice}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn options(arguments: &[&str]) -> FolderOptions {
        let command = FolderOptions::augment_args(Command::new("serow").no_binary_name(true));
        FolderOptions::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
    }

    #[test]
    fn without_options_the_files_have_their_own_defaults() {
        // A newcomer wants to see what is in the folder; whoever builds a site with the library does not.
        let expected = FilesSettings { listing: Listing::Negotiated, ..FilesSettings::default() };
        let settings = folder_settings(options(&[]), 128).unwrap();
        assert_eq!(format!("{settings:?}"), format!("{expected:?}"));
    }

    #[test]
    fn folders_that_clients_change_are_looked_at_for_each_request() {
        for (write, fresh_for) in [("off", 900), ("put", 0), ("dav", 0)] {
            let settings = folder_settings(options(&["--write", write]), 128).unwrap();
            assert_eq!(settings.cache.fresh_for, fresh_for, "{write}");
        }
        let error = folder_settings(options(&["--write=put", "--rewrite=/a=/b"]), 128).unwrap_err();
        assert!(error.text.contains("cannot be combined"));
    }

    #[test]
    fn links_out_of_a_folder_that_clients_change_are_refused() {
        for (symlinks, write, is_right) in [
            ("owner", "off", true),
            ("all", "off", true),
            ("none", "dav", true),
            ("within", "put", true),
            ("owner", "put", false),
            ("all", "form", false),
            ("all", "dav", false),
        ] {
            let arguments = ["--symlinks", symlinks, "--write", write];
            assert_eq!(folder_settings(options(&arguments), 128).is_ok(), is_right, "{arguments:?}");
        }
    }

    #[test]
    fn source_code_is_served_where_the_settings_or_a_folder_of_clients_ask_for_it() {
        for (arguments, expected) in
            [(&[][..], Sensitive::Refuse), (&["--sensitive"], Sensitive::Serve), (&["--write=put"], Sensitive::Serve)]
        {
            assert_eq!(folder_settings(options(arguments), 128).unwrap().sensitive, expected, "{arguments:?}");
        }
    }

    #[test]
    fn uploads_by_the_form_take_the_place_of_nothing() {
        let settings = folder_settings(options(&["--write=form", "--quota=1G"]), 128).unwrap();
        assert!(settings.upload_form && settings.precompressed.is_empty());
        for arguments in [&["--write=form", "--listing=off"][..], &["--write=form", "--listing=json"], &["--quota=1G"]]
        {
            assert!(folder_settings(options(arguments), 128).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn rules_without_a_pattern_come_last() {
        let rule = |pattern, freshness| FreshnessRule { pattern: Pattern::new(pattern), freshness };
        let words = ["--expires=1h", "--expires=*.css=2h", "--cache-control=*.js=no-cache", "--expires=/a/*=3h"];
        let expected = [
            rule("*.js", Freshness::Directives("no-cache".to_owned())),
            rule("*.css", Freshness::For(Duration::from_secs(7200))),
            rule("/a/*", Freshness::For(Duration::from_secs(10_800))),
            rule("*", Freshness::For(Duration::from_secs(3600))),
        ];
        assert_eq!(freshness(options(&words).caching), expected);
        let twice = folder_settings(options(&["--expires=1h", "--cache-control=no-cache"]), 1);
        assert!(twice.unwrap_err().text.contains("only one"));
    }

    #[test]
    fn settings_of_the_library_are_named_as_options() {
        for (setting, expected) in [
            ("index", r#"--index "../x": give a name, without a folder"#),
            ("fallback", r#"--spa "../x": give the path of a file below the served folder, without '..'"#),
        ] {
            let error = FilesError::Path { setting, value: "../x".to_owned() };
            assert_eq!(folder_error(&error).unwrap().in_options(), expected);
        }
        let error = FilesError::Text { setting: "freshness", value: "a\nb".to_owned() };
        let text = folder_error(&error).unwrap().in_options();
        assert!(text.starts_with(r#"--cache-control "a\nb": leave out control characters"#));
        assert_eq!(folder_error(&FilesError::Missing("/".into())), None);
    }
}
