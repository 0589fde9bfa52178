//! The texts of sites: which of them are new in other settings, and the settings with some of the sites only.

use std::{collections::BTreeMap, sync::Arc};

use serow_document::{Sources, TableTexts, TextKind};

/// The texts of settings, taken apart into those of sites and the rest.
#[derive(Clone, Debug, Default)]
pub struct SiteTexts {
    /// The settings file first.
    files: Vec<Arc<FileTexts>>,
    by_name: BTreeMap<Arc<str>, Arc<FileTexts>>,
}

/// A file.
#[derive(Debug)]
struct FileTexts {
    /// The path, as it is shown.
    name: Arc<str>,
    text: String,
    parts: TableTexts,
    /// The texts of its sites.
    sites: Vec<Arc<str>>,
    /// Whether it has more than sites and comments.
    has_others: bool,
}

impl SiteTexts {
    /// Those of settings, which may have files of earlier ones; nothing where sites are written in another way than with the
    /// header `[[site]]`.
    #[must_use]
    pub fn of(sources: &Sources, earlier: &Self) -> Option<Self> {
        let mut texts = Self::default();
        for (name, text) in sources.named_texts() {
            let known = earlier.by_name.get(name).filter(|file| file.text == text);
            let file = match known {
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
        self.files.iter().flat_map(|file| &file.sites)
    }

    /// Whether all but the sites is the same.
    #[must_use]
    pub fn differ_in_sites_only(&self, others: &Self) -> bool {
        let of = |texts: &'_ Self| texts.files.iter().filter(|file| file.has_others).cloned().collect::<Vec<_>>();
        let (own, others) = (of(self), of(others));
        own.len() == others.len() && own.iter().zip(&others).all(|(own, other)| own.has_same_others(other))
    }

    /// The settings with these sites only. Each part is in the line of its file that it is in.
    pub fn with_sites(&self, is_wanted: impl Fn(&Arc<str>) -> bool) -> Sources {
        let mut sources = Sources::default();
        for (number, file) in self.files.iter().enumerate() {
            if number == 0 || file.has_others || file.sites.iter().any(&is_wanted) {
                sources.add(&file.name, file.with_sites(&is_wanted));
            }
        }
        sources
    }
}

impl FileTexts {
    fn of(name: &str, text: &str) -> Option<Self> {
        let parts = TableTexts::of(text, "site")?;
        let of_kind = |kind| parts.parts().iter().filter(move |part| part.kind == kind);
        let sites = of_kind(TextKind::Table).map(|part| text[part.range.clone()].into()).collect();
        let has_others = of_kind(TextKind::Other).next().is_some();
        Some(Self { name: name.into(), text: text.to_owned(), sites, has_others, parts })
    }

    fn others(&self) -> impl Iterator<Item = &str> {
        let parts = self.parts.parts().iter().filter(|part| part.kind == TextKind::Other);
        parts.map(|part| &self.text[part.range.clone()])
    }

    fn has_same_others(&self, other: &Self) -> bool {
        self.name == other.name && self.others().eq(other.others())
    }

    fn with_sites(&self, is_wanted: &impl Fn(&Arc<str>) -> bool) -> String {
        let (mut kept, mut sites) = (String::new(), self.sites.iter());
        for part in self.parts.parts() {
            let text = &self.text[part.range.clone()];
            let is_site = part.kind == TextKind::Table;
            if !is_site || sites.next().is_some_and(is_wanted) {
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
            sources.add(name, (*text).to_owned());
        });
        SiteTexts::of(&sources, &SiteTexts::default()).unwrap()
    }

    #[test]
    fn settings_differ_in_sites_or_in_more() {
        let main = "a = 1\n[[site]]\nx = 1\n[[map]]\ny = 1\n";
        let one = texts(&[("main", main), ("b", "# B\n[[site]]\n")]);
        for (files, expected) in [
            (&[("main", main)][..], true),
            (&[("main", "a = 1\n[[map]]\ny = 1\n")], true),
            (&[("main", "a = 1\n[[site]]\nx = 2\n\n\n[[map]]\ny = 1\n"), ("c", "\n")], true),
            (&[("main", "a = 2\n[[site]]\nx = 1\n[[map]]\ny = 1\n")], false),
            (&[("main", "a = 1\n[[site]]\nx = 1\n")], false),
            (&[("main", main), ("b", "[[map]]\n[[site]]\n")], false),
        ] {
            assert_eq!(texts(files).differ_in_sites_only(&one), expected, "{files:?}");
        }
    }

    #[test]
    fn parts_stay_in_their_lines() {
        let all = texts(&[
            ("main", "a = 1\n[[site]]\nx = 1\n[[site]]\nx = 2\n[[map]]\n[[site]]\nx = 3\n"),
            ("b", "[[site]]\nx = 4\n"),
            ("c", "[[site]]\nx = 5\n"),
        ]);
        let some = all.with_sites(|text| text.contains('2') || text.contains('5'));
        let found: Vec<_> = some.named_texts().collect();
        assert_eq!(found, [("main", "a = 1\n\n\n[[site]]\nx = 2\n[[map]]\n"), ("c", "[[site]]\nx = 5\n")]);
        assert_eq!(all.sites().count(), 5);
    }
}
