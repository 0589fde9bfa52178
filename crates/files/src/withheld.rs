//! Files that lie in many a folder and are meant for nobody: source code that runs on the server, and keys.

use crate::settings::FilesSettings;

/// Whether files are served that are rarely meant to be public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sensitive {
    /// They answer 404 and no listing shows them: PHP (`.php`, `.phtml`, `.phar`, `.inc`), `.env`, and private keys
    /// (`.pem`, `.key`, `id_rsa` …), also as backups and samples (`wp-config.php.bak`, `config.php.dist`). Those whose ending has a media type in the
    /// settings are served all the same.
    #[default]
    Refuse,
    /// They are served and listed like any other.
    Serve,
}

/// Which names are withheld.
#[derive(Clone, Debug)]
pub(crate) struct Withheld {
    sensitive: Sensitive,
    /// Endings that the settings give a media type, in lower case.
    wanted: Vec<Vec<u8>>,
}

impl Withheld {
    pub(crate) fn of(settings: &FilesSettings) -> Self {
        let ending = |(ending, _): &(String, String)| ending.trim_start_matches('.').to_ascii_lowercase().into_bytes();
        Self { sensitive: settings.sensitive, wanted: settings.media_types.iter().map(ending).collect() }
    }

    /// Whether the file at a path, or of this name, is withheld.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        if self.sensitive == Sensitive::Serve {
            return false;
        }
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_ascii_lowercase();
        // Names with a dot before them have a setting of their own, `hidden`.
        let name = without_copies(&name);
        if name.first() == Some(&b'.') {
            return false;
        }
        let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return KEYS.contains(&name) };
        let ending = &name[dot + 1..];
        ENDINGS.contains(&ending) && !self.wanted.iter().any(|wanted| wanted == ending)
    }
}

/// The name of what this is a backup or a compressed copy of.
fn without_copies(mut name: &[u8]) -> &[u8] {
    while let Some(original) = COPIES.iter().find_map(|copy| name.strip_suffix(*copy)) {
        name = original;
    }
    name
}

/// Source code that PHP runs or includes, environments, and private keys.
const ENDINGS: [&[u8]; 12] =
    [b"php", b"phtml", b"phar", b"inc", b"phps", b"env", b"pem", b"key", b"p12", b"pfx", b"ppk", b"jks"];

/// Keys of SSH.
const KEYS: [&[u8]; 4] = [b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519"];

/// Endings that editors and people put behind a name, and packages behind that of a file to start from.
const COPIES: [&[u8]; 11] =
    [b"~", b".bak", b".old", b".orig", b".save", b".swp", b".dist", b".sample", b".gz", b".br", b".zst"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_code_and_keys_are_withheld() {
        let refusing = Withheld::of(&FilesSettings::default());
        for (name, expected) in [
            ("index.php", true),
            ("a/b/INDEX.PHP", true),
            ("wp-config.php.bak", true),
            ("wp-config.php~", true),
            ("config.inc", true),
            ("config.inc.php.sample", true),
            ("settings.php.dist", true),
            ("a.inc.dist.gz", true),
            ("a.phps", true),
            ("phpunit.xml.dist", false),
            ("a.sample", false),
            ("a.phtml", true),
            ("tool.phar", true),
            ("production.env", true),
            ("site.key", true),
            ("site.pem.gz", true),
            ("id_rsa", true),
            ("keys/id_ed25519.old", true),
            ("id_rsa.pub", false),
            ("php", false),
            ("a.php/b.css", false),
            ("a.php.html", false),
            ("monkey", false),
            ("a.keys", false),
            ("", false),
            (".env", false),
            ("~", false),
        ] {
            assert_eq!(refusing.contains(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn settings_can_ask_for_them() {
        let media_types = vec![(".Pem".to_owned(), "application/x-pem-file".to_owned())];
        let some = Withheld::of(&FilesSettings { media_types, ..FilesSettings::default() });
        assert!(!some.contains(b"ca.pem") && some.contains(b"ca.key"));
        let all = Withheld::of(&FilesSettings { sensitive: Sensitive::Serve, ..FilesSettings::default() });
        assert!(!all.contains(b"a.php"));
    }
}
