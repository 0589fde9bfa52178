//! Serow's own check of imported settings: what it refuses is a defect of the import, and files that this machine lacks are to
//! be copied.

use std::{collections::BTreeSet, fmt, fs::File, ops::Range, path::Path};

use serow_assembly::Faults;
use serow_config::{ConfigurationError, printable::on_one_line};
use serow_import::Imported;
use serow_nginx_syntax::place::Place;

use crate::application_host::application_host;

/// The outcome of the check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OwnCheck {
    /// The refusals.
    pub(super) defects: Vec<Defect>,
    /// Files, folders and accounts that this machine lacks.
    pub(super) missing: BTreeSet<String>,
}

/// Imported settings that Serow refuses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Defect {
    /// The directive that they come from, if it is one.
    place: Option<Place>,
    /// The settings.
    line: String,
    /// The reason.
    why: String,
}

impl OwnCheck {
    /// Checks settings as if they stood at a path.
    ///
    /// # Errors
    ///
    /// They are not a settings file at all.
    pub(super) fn of(imported: &Imported, path: &Path) -> Result<Self, ConfigurationError> {
        let text = &imported.settings;
        let Faults { of_settings, of_parts } = serow_assembly::faults(path, text.clone(), &application_host())?;
        let mut check = Self::default();
        let of_settings = of_settings.into_iter().map(|fault| (fault, false));
        for (fault, is_of_parts) in of_settings.chain(of_parts.into_iter().map(|fault| (fault, true))) {
            let span = fault.span.unwrap_or_default();
            let line = line(text, &span);
            match missing(&format!("{line} {}", fault.text), text.get(span.clone()).unwrap_or_default()) {
                Some(missing) if is_of_parts => _ = check.missing.insert(missing),
                _ => check.defects.push(Defect {
                    place: imported.origin(span.start).cloned(),
                    line: on_one_line(line),
                    why: on_one_line(&fault.text),
                }),
            }
        }
        Ok(check)
    }
}

impl fmt::Display for OwnCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.defects.is_empty() {
            writeln!(formatter, "\nRefused by Serow, by a defect of the import: mend these settings, and report it:")?;
        }
        for Defect { place, line, why } in &self.defects {
            match place {
                Some(place) => writeln!(formatter, "  {place}: {line}\n      {why}")?,
                None => writeln!(formatter, "  {line}\n      {why}")?,
            }
        }
        if !self.missing.is_empty() {
            writeln!(formatter, "\nMissing on this machine: copy or create these, then run serow check:")?;
        }
        self.missing.iter().try_for_each(|missing| writeln!(formatter, "  {missing}"))
    }
}

/// The line at the beginning of a span.
fn line<'a>(text: &'a str, span: &Range<usize>) -> &'a str {
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// The file or account that a faulty setting names, if this machine lacks it or keeps it from this user. The key stands in
/// the line, or in the text of the fault.
fn missing(named: &str, value: &str) -> Option<String> {
    let mut words = named.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let key = words.find(|word| OF_MACHINE.contains(word))?;
    let mut parts = value.split(['"', '\'', ',']).map(str::trim);
    if ["user", "group"].contains(&key) {
        let name = parts.rfind(|part| !part.is_empty() && !part.starts_with(key))?;
        return Some(format!("the {key} {name}"));
    }
    let cannot_open = |path: &&str| path.starts_with('/') && File::open(path).is_err();
    parts.find(cannot_open).map(str::to_owned)
}

/// Keys whose values name files, folders and accounts.
const OF_MACHINE: &[&str] = &[
    "root",
    "tls",
    "tls-client-ca",
    "tls-client-crl",
    "tls-ocsp",
    "file",
    "error-pages",
    "not-found",
    "server-ca",
    "server-certificate",
    "dir",
    "program",
    "user",
    "group",
];

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serow_nginx_syntax::reading::Files;

    use super::*;

    /// A configuration without files that it includes.
    struct Configuration(String);

    impl Files for Configuration {
        fn read(&self, _: &Path) -> Result<Vec<u8>, String> {
            Ok(self.0.clone().into_bytes())
        }

        fn matching(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
            Ok(Vec::new())
        }
    }

    fn check(server: &str) -> OwnCheck {
        let text = format!("http {{\n  server {{ listen 127.0.0.1:80;\n{server}\n}} }}");
        let prefix = Path::new("/etc/nginx");
        let imported = serow_import::nginx(Path::new("nginx.conf"), prefix, &Configuration(text)).unwrap();
        OwnCheck::of(&imported, Path::new("serow.toml")).unwrap()
    }

    #[test]
    fn missing_files_are_not_defects() {
        let cases: [(&str, &[&str]); 4] = [
            ("return 200;", &[]),
            ("root /no/such/folder;", &["/no/such/folder"]),
            ("location /a { auth_basic a; auth_basic_user_file /no/such/file; return 200; }\nroot /;", &[]),
            (
                "root /no; location /a { auth_basic a; auth_basic_user_file /no/such/file; root /; }",
                &["/no", "/no/such/file"],
            ),
        ];
        for (server, expected) in cases {
            let check = check(server);
            assert_eq!(check.defects, [], "{server}");
            assert_eq!(check.missing.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{server}");
        }
    }

    #[test]
    fn refused_settings_have_the_line_of_their_directive() {
        let imported = |settings: &str| {
            let text =
                "http {\n server {\n  location /a { return 200; }\n  location /b { return 200; }\n} }".to_owned();
            let mut imported =
                serow_import::nginx(Path::new("nginx.conf"), Path::new("/"), &Configuration(text)).unwrap();
            imported.settings = imported.settings.replace("\"/b*\"", settings);
            imported
        };
        let check = OwnCheck::of(&imported("\"/#*\""), Path::new("serow.toml")).unwrap();
        let places: Vec<_> = check.defects.iter().map(|defect| defect.place.as_ref().unwrap().to_string()).collect();
        assert_eq!(places, ["nginx.conf:4"], "{check}");
        assert!(check.to_string().contains("nginx.conf:4: path = \"/#*\"\n"), "{check}");
    }
}
