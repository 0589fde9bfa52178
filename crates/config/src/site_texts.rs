//! The texts of sites: which of them are new in other settings, and the settings with some of the sites only.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serow_document::{Sources, TableTexts, TextKind};

/// The texts of settings, taken apart into those of sites and the rest.
#[derive(Clone, Debug, Default)]
pub struct SiteTexts {
    /// The settings file first.
    files: Vec<Arc<FileTexts>>,
    by_name: HashMap<Arc<str>, Arc<FileTexts>>,
}

/// The texts of the sites of two settings that differ in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedSites {
    /// Those that only the earlier settings have.
    pub gone: Vec<Arc<str>>,
    /// Those that only the later ones have.
    pub new: Vec<Arc<str>>,
}

/// A file.
#[derive(Debug)]
struct FileTexts {
    /// The path, as it is shown.
    name: Arc<str>,
    /// Its parts in their order, of which the tables are sites.
    parts: Vec<(TextKind, Arc<str>)>,
}

impl SiteTexts {
    /// Those of settings, which may have files of earlier ones; nothing where sites are written in another way than with the
    /// header `[[site]]`.
    #[must_use]
    pub fn of(sources: &Sources, earlier: &Self) -> Option<Self> {
        let mut texts = Self::default();
        for (name, text) in sources.named_texts() {
            let known = earlier.by_name.get(name);
            let file = match known.filter(|file| file.has_text(text)) {
                Some(file) => Arc::clone(file),
                None => Arc::new(FileTexts::of(name, text)?),
            };
            texts.by_name.insert(Arc::clone(&file.name), Arc::clone(&file));
            texts.files.push(file);
        }
        Some(texts)
    }

    /// The texts of all sites, in their order.
    pub fn sites(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.iter().flat_map(|file| file.sites())
    }

    /// The sites in which these settings differ from earlier ones; nothing if they differ in more, or a changed file has a text
    /// that another one has, too.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Option<ChangedSites> {
        let of = |texts: &Self| -> Vec<Arc<FileTexts>> {
            texts.files.iter().filter(|file| file.has_others()).cloned().collect()
        };
        let (own, others) = (of(self), of(earlier));
        if own.len() != others.len() || !own.iter().zip(&others).all(|(own, other)| own.has_same_others(other)) {
            return None;
        }
        let (mut gone, mut new) = (earlier.sites_not_in(self), self.sites_not_in(earlier));
        let (before, now): (HashSet<_>, HashSet<_>) = (gone.iter().cloned().collect(), new.iter().cloned().collect());
        if now.len() != new.len() {
            return None;
        }
        gone.retain(|text| !now.contains(text));
        new.retain(|text| !before.contains(text));
        Some(ChangedSites { gone, new })
    }

    /// The sites of files that others have not, or have with another text.
    fn sites_not_in(&self, others: &Self) -> Vec<Arc<str>> {
        let is_same =
            |file: &&Arc<FileTexts>| others.by_name.get(&file.name).is_some_and(|other| Arc::ptr_eq(file, other));
        self.files.iter().filter(|file| !is_same(file)).flat_map(|file| file.sites().cloned()).collect()
    }

    /// The settings with these sites only, and the texts of these sites. Each part is in the line of its file that it is in.
    #[must_use]
    pub fn with_sites(&self, wanted: &HashSet<Arc<str>>) -> (Sources, Vec<Arc<str>>) {
        let (mut sources, mut texts) = (Sources::default(), Vec::new());
        for (number, file) in self.files.iter().enumerate() {
            if number == 0 || file.has_others() || file.sites().any(|site| wanted.contains(site)) {
                sources.add(&file.name, file.with_sites(wanted));
                texts.extend(file.sites().filter(|site| wanted.contains(*site)).cloned());
            }
        }
        (sources, texts)
    }
}

impl FileTexts {
    fn of(name: &str, text: &str) -> Option<Self> {
        let parts = TableTexts::of(text, "site")?;
        let parts = parts.parts().iter().map(|part| (part.kind, text[part.range.clone()].into())).collect();
        Some(Self { name: name.into(), parts })
    }

    fn has_text(&self, text: &str) -> bool {
        let mut parts = self.parts.iter();
        parts.try_fold(text, |rest, (_, part)| rest.strip_prefix(&**part)).is_some_and(str::is_empty)
    }

    fn of_kind(&self, kind: TextKind) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().filter(move |(of_part, _)| *of_part == kind).map(|(_, text)| text)
    }

    /// The texts of its sites.
    fn sites(&self) -> impl Iterator<Item = &Arc<str>> {
        self.of_kind(TextKind::Table)
    }

    /// Whether it has more than sites and comments.
    fn has_others(&self) -> bool {
        self.of_kind(TextKind::Other).next().is_some()
    }

    fn has_same_others(&self, other: &Self) -> bool {
        self.name == other.name && self.of_kind(TextKind::Other).eq(other.of_kind(TextKind::Other))
    }

    fn with_sites(&self, wanted: &HashSet<Arc<str>>) -> String {
        let mut kept = String::new();
        for (kind, text) in &self.parts {
            if *kind != TextKind::Table || wanted.contains(text) {
                kept.push_str(text);
            } else {
                kept.extend(text.matches('\n'));
            }
        }
        // Behind the last part there is nothing whose line matters.
        kept.truncate(kept.trim_end_matches('\n').len());
        kept.push('\n');
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> SiteTexts {
        let mut sources = Sources::default();
        files.iter().for_each(|(name, text)| {
            let _ = sources.add(name, (*text).to_owned());
        });
        SiteTexts::of(&sources, &SiteTexts::default()).unwrap()
    }

    #[test]
    fn settings_differ_in_sites_or_in_more() {
        let main = "a = 1\n[[site]]\nx = 1\n[[map]]\ny = 1\n";
        let one = texts(&[("main", main), ("b", "# B\n[[site]]\nx = 9\n")]);
        let sites = |numbers: &[u8]| numbers.iter().map(|number| format!("[[site]]\nx = {number}\n").into()).collect();
        for (files, expected) in [
            (&[("main", main)][..], Some((&[9][..], &[][..]))),
            (&[("main", "a = 1\n[[map]]\ny = 1\n")], Some((&[1, 9], &[]))),
            (&[("main", "a = 1\n[[site]]\nx = 2\n[[map]]\ny = 1\n"), ("c", "\n")], Some((&[1, 9], &[2]))),
            (&[("main", main), ("c", "[[site]]\nx = 9\n[[site]]\nx = 3\n")], Some((&[], &[3]))),
            (&[("main", main), ("c", "[[site]]\nx = 9\n[[site]]\nx = 9\n")], None),
            (&[("main", "a = 2\n[[site]]\nx = 1\n[[map]]\ny = 1\n")], None),
            (&[("main", "a = 1\n[[site]]\nx = 1\n")], None),
            (&[("main", main), ("b", "[[map]]\n[[site]]\nx = 9\n")], None),
        ] {
            let mut sources = Sources::default();
            files.iter().for_each(|(name, text)| {
                let _ = sources.add(name, (*text).to_owned());
            });
            let changed = SiteTexts::of(&sources, &one).unwrap().changes_since(&one);
            let expected = expected.map(|(gone, new)| ChangedSites { gone: sites(gone), new: sites(new) });
            assert_eq!(changed, expected, "{files:?}");
        }
    }

    #[test]
    fn parts_stay_in_their_lines() {
        let all = texts(&[
            ("main", "a = 1\n[[site]]\nx = 1\n[[site]]\nx = 2\n[[map]]\n[[site]]\nx = 3\n"),
            ("b", "[[site]]\nx = 4\n"),
            ("c", "[[site]]\nx = 5\n"),
        ]);
        let wanted = ["[[site]]\nx = 5\n", "[[site]]\nx = 2\n"].map(Arc::from);
        let (some, sites) = all.with_sites(&wanted.iter().cloned().collect());
        let found: Vec<_> = some.named_texts().collect();
        assert_eq!(found, [("main", "a = 1\n\n\n[[site]]\nx = 2\n[[map]]\n"), ("c", "[[site]]\nx = 5\n")]);
        assert_eq!((all.sites().count(), sites), (5, [wanted[1].clone(), wanted[0].clone()].to_vec()));
    }
}
