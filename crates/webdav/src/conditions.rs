//! The conditions of a request that changes something: `If`, `If-Match`, `If-None-Match`, `If-Unmodified-Since`.

use std::time::SystemTime;

use serow_files::{EntityTag, OpenError, Opened, Root, tags};
use serow_message::{KnownHeader, Request};

use crate::{
    if_header::{IfHeader, ResourceState},
    locks::LockTable,
    refusal::Refusal,
    writable_folder::{WritableFolder, path_at},
};

/// The conditions of a request.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    if_header: Option<IfHeader>,
    if_match: Option<Vec<Vec<u8>>>,
    if_none_match: Option<Vec<Vec<u8>>>,
    unmodified_since: Option<SystemTime>,
    /// Those of this server.
    hosts: Vec<String>,
}

impl Conditions {
    /// Reads the conditions of a request.
    ///
    /// # Errors
    ///
    /// A malformed `If`.
    pub(crate) fn of(shared: &WritableFolder, request: &Request) -> Result<Self, Refusal> {
        let headers = &request.headers;
        let mut values = headers.get_all("if");
        let if_header = match (values.next(), values.next()) {
            (None, _) => None,
            (Some(value), None) => {
                let header = std::str::from_utf8(value).ok().and_then(|value| IfHeader::parse(value).ok());
                Some(header.ok_or_else(|| Refusal::bad_request("the field If is malformed"))?)
            }
            _ => return Err(Refusal::bad_request("there are two fields If")),
        };
        let list = |name| {
            let is_there = headers.contains(name);
            is_there.then(|| headers.get_all(name).flat_map(tags).map(<[u8]>::to_vec).collect())
        };
        let date = headers.get_str(KnownHeader::IfUnmodifiedSince);
        let hosts = if_header.as_ref().map(|_| shared.site.hosts(request)).unwrap_or_default();
        Ok(Self {
            if_header,
            if_match: list(KnownHeader::IfMatch),
            if_none_match: list(KnownHeader::IfNoneMatch),
            unmodified_since: date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()),
            hosts,
        })
    }

    /// The lock tokens that the client shows to have.
    pub(crate) fn tokens(&self) -> Vec<&str> {
        self.if_header.iter().flat_map(IfHeader::tokens).collect()
    }

    /// Whether nothing may be at the path of the request, so that a file can be created only.
    pub(crate) fn requires_absence(&self) -> bool {
        self.if_none_match.as_ref().is_some_and(|tags| tags.iter().any(|tag| tag == b"*"))
    }

    /// Whether the conditions are fulfilled for what is at a path.
    ///
    /// # Errors
    ///
    /// They are not (412), or the file system fails.
    pub(crate) fn check(
        &self,
        shared: &WritableFolder,
        root: &Root,
        path: &[u8],
        locks: &LockTable,
    ) -> Result<(), Refusal> {
        if let Some(header) = &self.if_header
            && !header.is_fulfilled(|resource, state| self.holds(shared, root, path, locks, resource, state))
        {
            return Err(Refusal::precondition());
        }
        if self.if_match.is_none() && self.if_none_match.is_none() && self.unmodified_since.is_none() {
            return Ok(());
        }
        let found = find(shared, root, path)?;
        let tag = found.as_ref().and_then(|found| found.tag.as_ref());
        // Every file that is uploaded is a new one, so that its tag is strong from the beginning.
        let strong = tag.cloned().map(EntityTag::into_strong);
        let is = |tag: &[u8], equals: &dyn Fn(&EntityTag) -> bool| match tag {
            b"*" => found.is_some(),
            _ => strong.as_ref().is_some_and(equals),
        };
        // RFC 9110 §13.2.2.
        let is_fulfilled = match (&self.if_match, self.unmodified_since) {
            (Some(tags), _) => tags.iter().any(|member| is(member, &|tag| tag.equals_strongly(member))),
            (None, Some(since)) => {
                found.as_ref().and_then(|found| found.modified).is_none_or(|modified| modified <= since)
            }
            (None, None) => true,
        };
        let mut excluded = self.if_none_match.iter().flatten();
        if is_fulfilled && !excluded.any(|member| is(member, &|tag| tag.equals_weakly(member))) {
            Ok(())
        } else {
            Err(Refusal::precondition())
        }
    }

    fn holds(
        &self,
        shared: &WritableFolder,
        root: &Root,
        path: &[u8],
        locks: &LockTable,
        resource: Option<&str>,
        state: &ResourceState,
    ) -> bool {
        let other = match resource.map(|url| path_at(url, &self.hosts)) {
            None => None,
            Some(url) => match url.ok().and_then(|url| shared.locate(&url).ok()) {
                // It would say what is there, which another route may forbid.
                Some(other) if shared.is_own(&other.path, other.is_folder) => Some(other.path),
                _ => return false,
            },
        };
        let path = other.as_deref().unwrap_or(path);
        match state {
            ResourceState::Token(token) => locks.covering(path).any(|lock| lock.token == *token),
            ResourceState::Tag(member) => {
                let tag = find(shared, root, path).ok().flatten().and_then(|found| found.tag);
                tag.is_some_and(|tag| tag.equals_weakly(member.as_bytes()))
            }
        }
    }
}

/// The resource at a path, as far as conditions are concerned.
struct Found {
    /// Nothing for a folder, or a file that cannot be read.
    tag: Option<EntityTag>,
    modified: Option<SystemTime>,
}

fn find(shared: &WritableFolder, root: &Root, path: &[u8]) -> Result<Option<Found>, Refusal> {
    match root.open_below(path) {
        Ok(Opened::File(file)) => {
            let (tag, modified) = shared.folder.validators(&file.version, || Some(&file.file));
            Ok(Some(Found { tag, modified }))
        }
        Ok(Opened::Folder(_)) => Ok(Some(Found { tag: None, modified: None })),
        Err(OpenError::NotFound | OpenError::Link) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
