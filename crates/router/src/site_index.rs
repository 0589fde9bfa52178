//! Which site a host belongs to.

use std::collections::HashMap;

use serow_message::StableHash;

use crate::{
    error::RouterError,
    host_name,
    host_pattern::{Hosts, MAX_NAME_LENGTH},
    site::Site,
};

/// Which site a host belongs to: the one that names it; else the one with the longest name it lies below; else the one
/// without hosts, or with `*`. A look into a table for each label at most, however many sites there are.
#[derive(Debug, Default)]
pub(crate) struct SiteIndex {
    named: HashMap<Box<[u8]>, usize, StableHash>,
    below: HashMap<Box<[u8]>, usize, StableHash>,
    otherwise: Option<usize>,
}

/// Checks that no two sites have the same host.
///
/// # Errors
///
/// [`RouterError::HostTwice`] or [`RouterError::WithoutHostsTwice`].
pub fn check_hosts<H>(sites: &[Site<H>]) -> Result<(), RouterError> {
    SiteIndex::new(sites).map(drop)
}

impl SiteIndex {
    /// All hosts belong to the first site.
    pub(crate) fn of_one() -> Self {
        Self { otherwise: Some(0), ..Self::default() }
    }

    pub(crate) fn new<H>(sites: &[Site<H>]) -> Result<Self, RouterError> {
        let mut index = Self::default();
        for (number, site) in sites.iter().enumerate() {
            let has_others = site.hosts.is_empty() || site.hosts.iter().any(|host| host.0 == Hosts::Others);
            if has_others && let Some(earlier) = index.otherwise.replace(number) {
                return Err(RouterError::WithoutHostsTwice { site: number, earlier });
            }
            for host in &site.hosts {
                let earlier = match &host.0 {
                    Hosts::One(host) => index.named.insert(host.as_bytes().into(), number),
                    Hosts::Below(parent) => index.below.insert(parent.as_bytes().into(), number),
                    Hosts::Others => None,
                };
                if let Some(earlier) = earlier {
                    return Err(RouterError::HostTwice { site: number, host: host.clone(), earlier });
                }
            }
        }
        Ok(index)
    }

    /// The site of this host; `None` stands for a host that no site can name.
    #[inline]
    pub(crate) fn find(&self, host: Option<&str>) -> Option<usize> {
        if self.named.is_empty() && self.below.is_empty() {
            return self.otherwise;
        }
        let mut room = [0; MAX_NAME_LENGTH];
        let host = host.and_then(|host| host_name::of(host, &mut room));
        host.and_then(|host| self.find_named(host)).or(self.otherwise)
    }

    fn find_named(&self, host: &[u8]) -> Option<usize> {
        let named = self.named.get(host).copied();
        named.or_else(|| parents(host).find_map(|parent| self.below.get(parent).copied()))
    }
}

/// The names that this one lies below, the longest first; none for one with an empty label, which is not a name.
fn parents(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_name = name.split(|&byte| byte == b'.').all(|label| !label.is_empty());
    let dots = name.iter().enumerate().filter(move |&(_, &byte)| is_name && byte == b'.');
    dots.map(|(place, _)| &name[place + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(sites: &[&[&str]]) -> Result<SiteIndex, RouterError> {
        let site = |hosts: &&[&str]| Site::<()> {
            hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
            ..Site::new(Vec::new())
        };
        SiteIndex::new(&sites.iter().map(site).collect::<Vec<_>>())
    }

    #[test]
    fn the_closest_name_decides() {
        let index = index(&[
            &["example.com", "www.example.com"],
            &["*.example.com"],
            &["*.api.example.com", "*.example.org"],
            &["127.0.0.1", "[::1]"],
            &["api.example.com"],
        ])
        .unwrap();
        let cases = [
            (Some("example.com"), Some(0)),
            (Some("EXAMPLE.COM."), Some(0)),
            (Some("example.com:8443"), Some(0)),
            (Some("www.example.com"), Some(0)),
            (Some("a.example.com"), Some(1)),
            (Some("a.b.example.com"), Some(1)),
            (Some("a.www.example.com"), Some(1)),
            (Some("api.example.com"), Some(4)),
            (Some("v1.api.example.com"), Some(2)),
            (Some("a.b.api.example.com"), Some(2)),
            (Some("example.org"), None),
            (Some("a.example.org"), Some(2)),
            (Some("127.0.0.1:80"), Some(3)),
            (Some("[0::1]:80"), Some(3)),
            (Some("[::2]"), None),
            (Some("notexample.com"), None),
            (Some(".example.com"), None),
            (Some("a..example.com"), None),
            (Some("com"), None),
            (Some(""), None),
            (None, None),
        ];
        for (host, expected) in cases {
            assert_eq!(index.find(host), expected, "{host:?}");
        }
    }

    #[test]
    fn the_site_without_hosts_has_all_others() {
        let only = index(&[&[]]).unwrap();
        let beside = index(&[&["a"], &[]]).unwrap();
        for host in [None, Some(""), Some("b"), Some("%"), Some("[::1]")] {
            assert_eq!((only.find(host), beside.find(host)), (Some(0), Some(1)), "{host:?}");
        }
        assert_eq!(beside.find(Some("a")), Some(0));
        let star = index(&[&["b"], &["a", "*"]]).unwrap();
        for (host, expected) in [(Some("a"), 1), (Some("b"), 0), (Some("c"), 1), (None, 1)] {
            assert_eq!(star.find(host), Some(expected), "{host:?}");
        }
        assert_eq!(index(&[]).unwrap().find(Some("a")), None);
    }

    #[test]
    fn a_host_that_is_claimed_twice_is_an_error() {
        let cases: [(&[&[&str]], &str); 6] = [
            (&[&["a", "A."]], "site 1: the host a is named twice: name it once"),
            (&[&["a"], &["b", "a"]], "site 2: site 1 has the host a as well: name it in one of them"),
            (&[&["*.a"], &["*.A"]], "site 2: site 1 has the host *.a as well: name it in one of them"),
            (&[&["[::1]"], &["[0::1]"]], "site 2: site 1 has the host [::1] as well: name it in one of them"),
            (&[&["a", "*"], &["b", "*"]], "site 2: site 1 is for all other hosts, too: name the hosts of one"),
            (&[&[], &["a"], &[]], "site 3: site 1 is for all other hosts, too: name the hosts of one"),
        ];
        for (sites, expected) in cases {
            assert_eq!(index(sites).unwrap_err().to_string(), expected);
        }
    }
}
