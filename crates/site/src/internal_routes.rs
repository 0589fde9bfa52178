//! Routes that clients cannot reach: only responses of applications and other servers lead there.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use serow::{Request, Target};
use serow_gateway::{InternalRedirect, LogLimit};
use serow_message::percent::encode_path;
use serow_router::Router;

use crate::{
    RouteHandler, RoutePolicy, per_thread::PerThread, phases::Phases, routed_response::respond,
    site_response::SiteResponse,
};

/// The internal routes of a site. Clones are the same routes.
#[derive(Clone)]
pub struct InternalRoutes {
    shared: Arc<InternalRouter>,
}

struct InternalRouter {
    router: PerThread<Router<RouteHandler>>,
    roots: Vec<InternalRoot>,
    /// Of the site, around what the router itself answers.
    phases: Arc<Phases>,
    warnings: LogLimit,
}

/// A folder that an internal route serves, which X-Sendfile can name files of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalRoot {
    /// The absolute path of the folder; as it is written, or without links.
    pub folder: PathBuf,
    /// The prefix of request paths before the path below the folder: `/protected`, or nothing.
    pub prefix: String,
}

impl InternalRoutes {
    /// The routes of this router, whose sites answer for all hosts. The policy is that of the site, for what the router
    /// itself answers.
    #[must_use]
    pub fn new(router: Router<RouteHandler>, roots: Vec<InternalRoot>, policy: Arc<RoutePolicy>) -> Self {
        let (router, warnings) = (PerThread::new(router), LogLimit::new());
        let phases = Arc::new(Phases::of_site(policy));
        Self { shared: Arc::new(InternalRouter { router, roots, phases, warnings }) }
    }

    /// The target whose response replaces one that names this; nothing if it names nothing below an internal route.
    pub(crate) fn target(&self, redirect: &InternalRedirect) -> Option<Target> {
        let text = match redirect {
            // An absolute URL would lead to its path.
            InternalRedirect::Path(path) if path.starts_with(b"/") => valid_target(path),
            InternalRedirect::Path(_) => return None,
            InternalRedirect::File(path) => self.target_of_file(path)?,
        };
        Target::parse(Bytes::from(text), false).ok().filter(|target| target.path().starts_with('/'))
    }

    /// The path that leads to this file through the folder that it is in; the deepest one, if one is in another.
    fn target_of_file(&self, path: &[u8]) -> Option<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !is_plain {
            return None;
        }
        let below = self.shared.roots.iter().filter_map(|root| Some((root, path.strip_prefix(&root.folder).ok()?)));
        let (root, rest) = below.min_by_key(|(_, rest)| rest.as_os_str().len())?;
        let mut target = root.prefix.clone().into_bytes();
        target.push(b'/');
        encode_path(rest.as_os_str().as_bytes(), &mut target);
        Some(target)
    }

    /// Handles a request that a response has led here.
    pub(crate) fn respond(&self, mut request: Request) -> SiteResponse {
        let router = self.shared.router.of_thread();
        let routed = router.route(&mut request, RouteHandler::attempt);
        respond(routed, request, |_, response| (response, Some(Arc::clone(&self.shared.phases))))
    }

    /// Logs what is wrong with a response, at most ten times a second.
    pub(crate) fn warn(&self, host: &str, path: &str, text: &str) {
        if let Some(suppressed) = self.shared.warnings.admit_now() {
            if suppressed.0 > 0 {
                tracing::warn!("and {suppressed} more warnings before");
            }
            tracing::warn!("{}{}: {text}", host.escape_debug(), path.escape_debug());
        }
    }
}

/// Encodes what cannot be in a target: applications write names of files as they are, and nginx takes them so. A percent
/// sign stays, since it begins what is encoded.
fn valid_target(path: &[u8]) -> Vec<u8> {
    let mut target = Vec::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'#' | b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | ..0x20 | 0x7f.. => {
                target.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
            _ => target.push(byte),
        }
    }
    target
}

impl std::fmt::Debug for InternalRoutes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("InternalRoutes").field("roots", &self.shared.roots).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serow_router::Site;

    use super::*;

    fn routes(roots: &[(&str, &str)]) -> InternalRoutes {
        let root =
            |(folder, prefix): &(&str, &str)| InternalRoot { folder: folder.into(), prefix: (*prefix).to_owned() };
        let router = Router::new(vec![Site::new(Vec::new())]).unwrap();
        InternalRoutes::new(router, roots.iter().map(root).collect(), Arc::default())
    }

    #[test]
    fn targets_of_paths() {
        let path = |text: &'static str| InternalRedirect::Path(Bytes::from_static(text.as_bytes()));
        for (written, expected) in [
            ("/files/a%20b?x=%2F", Some("/files/a%20b?x=%2F")),
            ("/files/a b\u{e4}#\"", Some("/files/a%20b%C3%A4%23%22")),
            ("/files/100%", Some("/files/100%")),
            ("@named", None),
            ("files/a", None),
            ("http://other.example/a", None),
            ("*", None),
        ] {
            let target = routes(&[]).target(&path(written));
            assert_eq!(target.as_ref().map(Target::as_str), expected, "{written}");
        }
    }

    #[test]
    fn targets_of_files() {
        let roots = [("/srv/files", "/files"), ("/srv/files/deep", "/deep"), ("/data", "")];
        for (written, expected) in [
            ("/srv/files/a b%.txt", Some("/files/a%20b%25.txt")),
            ("/srv/files/deep/a", Some("/deep/a")),
            ("/srv/files//a", Some("/files/a")),
            ("/data/protected/a?b", Some("/protected/a%3Fb")),
            ("/srv/files", Some("/files/")),
            ("/srv/filesystem/a", None),
            ("/srv/files/../../etc/passwd", None),
            ("/etc/passwd", None),
            ("srv/files/a", None),
            ("", None),
        ] {
            let target = routes(&roots).target(&InternalRedirect::File(Bytes::from_static(written.as_bytes())));
            assert_eq!(target.as_ref().map(Target::as_str), expected, "{written}");
        }
    }
}
