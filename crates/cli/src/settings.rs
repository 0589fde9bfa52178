//! What the options mean. This is the only place that sees both what was written and the settings of all parts.

use std::{net::Ipv4Addr, path::PathBuf, time::Duration};

use serow::{Address, Limits, ListenOptions, ProxyProtocol, Server, Timeouts, Versions};
use serow_files::{
    CacheLimits, Compression, FilesSettings, Freshness, FreshnessRule, Hidden, Listing, Pattern, Rewrite, Symlinks,
};
use tracing::level_filters::LevelFilter;

use crate::{
    access_log::{Destination, Format},
    admin::AdminAddress,
    arguments::{
        CachingArguments, ContentArguments, FilesArguments, HttpArguments, LevelArgument, LimitArguments,
        ListeningArguments, ListingArgument, LogArgument, LogFormatArgument, LoggingArguments, SymlinksArgument,
        TimeoutArguments, TlsArguments, VersionsOfHttp,
    },
    descriptors::Shares,
    encryption::tls_settings,
    failure::Failure,
    inherited,
};

/// How a folder is served.
pub(crate) struct FolderSettings {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// What is served of it.
    pub(crate) files: FilesSettings,
    /// Where and how it listens.
    pub(crate) server: Server,
    /// What TLS brings with it, if there is TLS.
    pub(crate) encryption: Option<Encryption>,
    /// Where the server says how it is, if anywhere.
    pub(crate) admin: Option<AdminAddress>,
    /// The access log, if there is one.
    pub(crate) access_log: Option<(Destination, Format)>,
    /// The least important thing that is said.
    pub(crate) level: LevelFilter,
}

/// What TLS brings with it.
pub(crate) struct Encryption {
    /// SHA-256 of a certificate that was made for this run.
    pub(crate) fingerprint: Option<String>,
    /// For how long browsers come with TLS only.
    pub(crate) strict_transport: Option<Duration>,
}

impl FolderSettings {
    /// Finds out what the options mean together.
    pub(crate) fn new(arguments: FilesArguments) -> Result<Self, Failure> {
        let FilesArguments { dir, listening, tls, http, logging, admin, content, caching, limits, timeouts } =
            arguments;
        let shares = shares(&listening, &caching);
        let (server, encryption) = server(&listening, &tls)?;
        Ok(Self {
            folder: dir,
            encryption,
            admin: admin.admin,
            server: self::http(server, &http).limits(self::limits(&limits, shares)).timeouts(self::timeouts(&timeouts)),
            files: files(content, caching, shares)?,
            level: level(logging.log_level),
            access_log: access_log(logging),
        })
    }
}

fn server(written: &ListeningArguments, tls: &TlsArguments) -> Result<(Server, Option<Encryption>), Failure> {
    let options = ListenOptions {
        backlog: written.backlog.get(),
        share: written.share_port,
        unix_mode: written.unix_mode.map(|mode| mode.0),
    };
    let proxy_protocol = if written.proxy_protocol { ProxyProtocol::Required } else { ProxyProtocol::Off };
    let mut server = Server::new().listen_options(options).proxy_protocol(proxy_protocol);
    if let Some(workers) = written.workers {
        server = server.workers(workers.in_memory());
    }
    let addresses = addresses(&written.listen).into_iter().map(|address| address.to_string());
    let Some(settings) = tls_settings(tls)? else {
        return Ok((addresses.fold(server, Server::listen), None));
    };
    let encryption = Encryption { fingerprint: settings.fingerprint(), strict_transport: tls.hsts.map(|span| span.0) };
    let mut server = addresses.fold(server.tls(settings), Server::listen_tls);
    if let Some(address) = &tls.redirect_http {
        server = server.listen(address.to_string());
    }
    Ok((server, Some(encryption)))
}

/// Where to listen: where that is said, else at what was handed over, else where newcomers look.
fn addresses(written: &[Address]) -> Vec<Address> {
    let addresses = if written.is_empty() { inherited::addresses() } else { written.to_vec() };
    if addresses.is_empty() { vec![Address::Tcp(DEFAULT_ADDRESS.into())] } else { addresses }
}

/// How HTTP is spoken.
fn http(server: Server, written: &HttpArguments) -> Server {
    let versions = match written.http {
        VersionsOfHttp::Both => Versions::Both,
        VersionsOfHttp::Http1 => Versions::Http1,
        VersionsOfHttp::Http2 => Versions::Http2,
    };
    server.versions(versions).pacing(written.pacing.0)
}

/// How the descriptors of the process are shared out.
fn shares(listening: &ListeningArguments, caching: &CachingArguments) -> Shares {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let workers = listening.workers.map_or_else(available, |workers| workers.in_memory());
    Shares::new(workers, caching.cache_files.in_memory())
}

fn limits(written: &LimitArguments, shares: Shares) -> Limits {
    let defaults = Limits::default();
    Limits {
        connections: written.max_connections.map_or(shares.connections, |most| most.in_memory()),
        body: written.max_body.map_or(defaults.body, |size| size.0),
        head: written.max_head.in_memory(),
        fields: written.max_fields.in_memory(),
        target: written.max_target.in_memory(),
    }
}

fn timeouts(written: &TimeoutArguments) -> Timeouts {
    Timeouts {
        head: written.head_timeout.0,
        idle: written.idle_timeout.0,
        body: written.body_timeout.0,
        grace: written.grace.0,
    }
}

fn access_log(written: LoggingArguments) -> Option<(Destination, Format)> {
    let format = match written.access_log_format {
        LogFormatArgument::Combined => Format::Combined,
        LogFormatArgument::Json => Format::Json,
    };
    let destination = match written.access_log {
        LogArgument::Off => return None,
        LogArgument::StandardOutput => Destination::StandardOutput,
        LogArgument::File(path) => Destination::File(path),
    };
    Some((destination, format))
}

fn level(written: LevelArgument) -> LevelFilter {
    match written {
        LevelArgument::Off => LevelFilter::OFF,
        LevelArgument::Error => LevelFilter::ERROR,
        LevelArgument::Warn => LevelFilter::WARN,
        LevelArgument::Info => LevelFilter::INFO,
        LevelArgument::Debug => LevelFilter::DEBUG,
        LevelArgument::Trace => LevelFilter::TRACE,
    }
}

fn files(content: ContentArguments, caching: CachingArguments, shares: Shares) -> Result<FilesSettings, Failure> {
    Ok(FilesSettings {
        compression: compression(&content),
        cache: cache(&caching, shares),
        freshness: freshness(caching)?,
        index: content.index,
        listing: match content.listing {
            ListingArgument::On => Listing::Negotiated,
            ListingArgument::Off => Listing::Off,
            ListingArgument::Html => Listing::Html,
            ListingArgument::Json => Listing::Json,
        },
        listing_limit: content.listing_limit.in_memory(),
        media_types: content.media_type.into_iter().map(|rule| (rule.ending, rule.media_type)).collect(),
        default_media_type: content.default_type,
        precompressed: content.precompressed.or(FilesSettings::default().precompressed),
        rewrite: content.rewrite.iter().map(|rule| Rewrite::new(&rule.from, &rule.to)).collect(),
        fallback: content.spa,
        not_found: content.not_found,
        hidden: if content.hidden { Hidden::Serve } else { Hidden::Refuse },
        symlinks: match content.symlinks {
            SymlinksArgument::Within => Symlinks::WithinRoot,
            SymlinksArgument::None => Symlinks::Refuse,
        },
        zero_copy: content.sendfile.is_on(),
    })
}

fn compression(written: &ContentArguments) -> Option<Compression> {
    let (smallest, largest) = (written.compress_smallest.0, written.compress_largest.0);
    let defaults = Compression::default();
    let codings = written.compress.clone().or(defaults.codings);
    (!codings.is_empty()).then_some(Compression { codings, smallest, largest, ..defaults })
}

fn cache(written: &CachingArguments, shares: Shares) -> CacheLimits {
    CacheLimits {
        entries: written.cache_entries.in_memory(),
        open_files: shares.cached_files,
        bytes: written.cache_memory.in_memory(),
        body: written.cache_largest.0,
    }
}

/// Rules with a pattern first, in their order, those in words before those in durations; then the one without.
fn freshness(written: CachingArguments) -> Result<Vec<FreshnessRule>, Failure> {
    let in_words = written.cache_control.into_iter().map(|rule| (rule.pattern, Freshness::Directives(rule.directives)));
    let durations = written.expires.into_iter().map(|rule| (rule.pattern, Freshness::For(rule.span.0)));
    let (mut rules, mut without_pattern) = (Vec::new(), Vec::new());
    for (pattern, freshness) in in_words.chain(durations) {
        match pattern {
            Some(pattern) => rules.push(FreshnessRule { pattern: Pattern::new(&pattern), freshness }),
            None => without_pattern.push(FreshnessRule { pattern: Pattern::new("*"), freshness }),
        }
    }
    if without_pattern.len() > 1 {
        let line = "--expires and --cache-control: only one may be without a pattern, since it is for all other paths";
        return Err(Failure::Misuse(line.to_owned()));
    }
    rules.append(&mut without_pattern);
    Ok(rules)
}

/// As the library has it.
const DEFAULT_ADDRESS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8080);

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// Of a process that may open as many as it likes.
    const ALL: Shares = Shares { connections: 0, cached_files: 128 };
    use crate::command_line::{Command, CommandLine};

    fn arguments(words: &[&str]) -> FilesArguments {
        let words = std::iter::once("serow").chain(words.iter().copied()).map(OsString::from);
        match CommandLine::read(words) {
            Ok(Command::Files(arguments)) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_options_the_parts_have_their_own_defaults() {
        let arguments = arguments(&[]);
        assert_eq!(limits(&arguments.limits, ALL), Limits::default());
        assert_eq!(timeouts(&arguments.timeouts), Timeouts::default());
        assert_eq!(arguments.listening.backlog.get(), ListenOptions::default().backlog);
        // A newcomer wants to see what is in the folder; whoever builds a site with the library does not.
        let expected = FilesSettings { listing: Listing::Negotiated, ..FilesSettings::default() };
        let settings = files(arguments.content, arguments.caching, ALL).unwrap();
        assert_eq!(format!("{settings:?}"), format!("{expected:?}"));
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
        assert_eq!(freshness(arguments(&words).caching).unwrap(), expected);
        let twice = freshness(arguments(&["--expires=1h", "--cache-control=no-cache"]).caching);
        assert!(matches!(twice, Err(Failure::Misuse(line)) if line.contains("only one")));
    }
}
