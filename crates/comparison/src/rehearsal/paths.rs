//! Files and folders that the configuration names, and those that stand for missing ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::made;
use serow_nginx_syntax::{alias::names_file, directive::Directive};

/// The files and folders of a rehearsal.
#[derive(Debug)]
pub(super) struct Paths {
    /// The folder that relative paths start at.
    prefix: PathBuf,
    /// The folder of the rehearsal.
    folder: PathBuf,
    /// Folders that do not exist, and those in their place.
    moved: Vec<(String, String)>,
    /// The folders of `root` and `alias` that begin with a variable.
    variables: Vec<String>,
}

/// The certificates that a configuration names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    pub(super) are_named: bool,
    pub(super) are_missing: bool,
}

/// Whether a path names a file by its ending, as in `favicon.ico`.
fn has_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(before, ending)| !before.is_empty() && (2..=5).contains(&ending.len()))
}

/// Whether a folder or file exists, and holds more than the pages that nginx's own package puts there.
fn is_filled(path: &Path) -> bool {
    let is_of_package = |entry: fs::DirEntry| {
        let name = entry.file_name();
        ["index.nginx-debian.html", "index.html", "50x.html"].iter().any(|own| name == *own)
    };
    match fs::read_dir(path) {
        Ok(entries) => !entries.flatten().all(is_of_package),
        // A file, or a folder that others may not read.
        Err(_) => path.exists(),
    }
}

/// Whether the certificates of a configuration exist; those without a name are missing.
pub(super) fn certificates(directives: &[Directive], prefix: &Path) -> Certificates {
    let mut found = Certificates::default();
    let mut count = 0;
    for directive in directives {
        if matches!(directive.name(), "ssl_certificate" | "ssl_certificate_key") {
            count += 1;
            found.are_missing |= directive.word(0).is_none_or(|path| !prefix.join(path).is_file());
        }
        found.are_named |= directive.name() == "listen" && directive.texts().any(|word| word == "ssl");
        let inner = certificates(directive.children(), prefix);
        found.are_named |= inner.are_named;
        found.are_missing |= inner.are_missing;
    }
    found.are_named |= count > 0;
    found.are_missing |= found.are_named && count == 0;
    found
}

/// A certificate that openssl makes for all names.
pub(super) fn generate_certificate(folder: &Path, directives: &[Directive]) -> Option<(PathBuf, PathBuf)> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    command
        .args(["-subj", "/CN=localhost", "-addext", &alternative_names(directives), "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    (status.is_ok_and(|status| status.success())).then_some((certificate, key))
}

/// The certificate's `subjectAltName`, with the names of the servers: Serow looks at them where it refuses unknown names.
fn alternative_names(directives: &[Directive]) -> String {
    let is_name = |name: &&str| {
        let rest = name.strip_prefix("*.").unwrap_or(name);
        !rest.is_empty()
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
            && !rest.starts_with('.')
    };
    let mut names: Vec<&str> = crate::sites::of(directives).iter().flat_map(|site| site.names.clone()).collect();
    names.retain(is_name);
    names.sort_unstable();
    names.dedup();
    let names = names.into_iter().take(MAX_NAMES).map(|name| format!(",DNS:{name}"));
    format!("subjectAltName=DNS:localhost{}", names.collect::<String>())
}

/// Enough for a site with all its names; the certificate stays small.
const MAX_NAMES: usize = 200;

impl Paths {
    pub(super) fn new(prefix: &Path, folder: &Path, directives: &[Directive]) -> Self {
        let mut variables = Vec::new();
        append_variables(directives, &mut variables);
        Self { prefix: prefix.to_owned(), folder: folder.to_owned(), moved: Vec::new(), variables }
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.prefix.join(path).exists()
    }

    /// The folders in the place of missing ones, then the originals.
    pub(super) fn moved(&self) -> Vec<(String, String)> {
        let mut moved: Vec<_> = self.moved.iter().map(|(original, new)| (new.clone(), original.clone())).collect();
        moved.push((self.files(), String::new()));
        moved
    }

    /// The folder that nginx takes if the configuration names none.
    pub(super) fn html(&self) -> String {
        self.folder.join("html").display().to_string()
    }

    /// The folder for all that is missing.
    pub(super) fn files(&self) -> String {
        self.folder.join("files").display().to_string()
    }

    /// Changes the paths of a directive in a location with this prefix, if it has one.
    pub(super) fn directive(&mut self, prefix: Option<&str>, directive: &mut Directive) -> io::Result<()> {
        let name = directive.name.text.clone();
        let Some(word) = directive.words.first_mut() else { return Ok(()) };
        match name.as_str() {
            "root" => word.text = self.root(&word.text, false),
            "alias" => {
                let is_file = match prefix {
                    Some(prefix) => names_file(prefix, &word.text),
                    None => has_ending(&word.text),
                };
                word.text = self.root(&word.text, is_file);
            }
            "fastcgi_param" if word.text == "SCRIPT_FILENAME" => self.script(directive),
            "auth_basic_user_file" => word.text = self.passwords(&word.text)?,
            "ssl_certificate" => word.text = self.certificate(&word.text, "certificate.pem"),
            "ssl_certificate_key" => word.text = self.certificate(&word.text, "key.pem"),
            name if name.starts_with("ssl_") && self.exists(&word.text) => {
                word.text = self.prefix.join(&word.text).display().to_string();
            }
            "proxy_cache_path" | "fastcgi_cache_path" | "uwsgi_cache_path" | "scgi_cache_path" => {
                let inner = word.text.trim_start_matches('/').replace('/', "-");
                word.text = self.folder.join("nginx").join("cache").join(inner).display().to_string();
            }
            _ => {}
        }
        Ok(())
    }

    fn certificate(&self, path: &str, name: &str) -> String {
        let made = self.folder.join(name);
        let path = if made.is_file() { made } else { self.prefix.join(path) };
        path.display().to_string()
    }

    /// Changes the value of `set`, if its variable begins the folder of a `root`.
    pub(super) fn set(&mut self, directive: &mut Directive) {
        let [name, value] = directive.words.as_mut_slice() else { return };
        let rests = self.variables.iter().filter_map(|folder| folder.strip_prefix(name.text.as_str()));
        let rests: Vec<_> = rests.filter(|rest| rest.is_empty() || rest.starts_with('/')).collect();
        let exist = rests.iter().all(|rest| Path::new(&format!("{}{rest}", value.text)).exists());
        if !value.text.starts_with('/') || rests.is_empty() || exist {
            return;
        }
        value.text = match value.text.contains('$') {
            true => self.root(&value.text, false),
            false => self.moved_to_files(value.text.trim_end_matches('/'), &value.text),
        };
    }

    /// Changes the folder of a script that is named with its whole path.
    fn script(&mut self, directive: &mut Directive) {
        let Some(word) = directive.words.get_mut(1).filter(|word| word.text.starts_with('/')) else { return };
        let end = word.text.find('$').or_else(|| word.text.rfind('/')).unwrap_or(0);
        let folder = word.text[..end].trim_end_matches('/').to_owned();
        if !folder.is_empty() && !Path::new(word.text.as_str()).exists() {
            let new = self.root(&folder, false);
            word.text = format!("{new}{}", &word.text[folder.len()..]);
        }
    }

    /// The folder for `root` and `alias`: the same if it exists, as far as it has no variables.
    fn root(&mut self, path: &str, is_file: bool) -> String {
        if path.starts_with('$') {
            return path.to_owned();
        }
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => self.prefix.join(path).display().to_string(),
        };
        let literal = match path.split_once('$') {
            Some((before, _)) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
            // An `alias` may be a file, whose folder is needed.
            None if is_file => path.rsplit_once('/').map_or("", |(folder, _)| folder),
            None => path.trim_end_matches('/'),
        };
        if is_filled(Path::new(if literal.is_empty() { "/" } else { literal })) && !path.contains('$') {
            return path;
        }
        self.moved_to_files(literal, &path)
    }

    /// A path in the folder for all that is missing, to which this folder moves.
    fn moved_to_files(&mut self, folder: &str, path: &str) -> String {
        if !folder.is_empty() && !self.moved.iter().any(|(original, _)| original == folder) {
            self.moved.push((folder.to_owned(), format!("{}{folder}", self.files())));
        }
        format!("{}{path}", self.files())
    }

    /// A file of passwords: the same if it exists, or one with the user `user` and the password `password`.
    fn passwords(&self, path: &str) -> io::Result<String> {
        if path.contains('$') {
            return Ok(path.to_owned());
        }
        if self.exists(path) {
            return Ok(self.prefix.join(path).display().to_string());
        }
        let path = self.folder.join("passwords");
        fs::write(&path, "user:$apr1$serow123$wrutYcVoxlZ7CP8eY/AXP.\n")?;
        Ok(path.display().to_string())
    }

    /// Changes the paths of other directives that lie in missing folders, such as SCRIPT_FILENAME.
    pub(super) fn replace_moved(&self, directives: &mut [Directive]) {
        for directive in directives {
            if !matches!(directive.name(), "root" | "alias" | "location" | "rewrite" | "return" | "listen") {
                for word in &mut directive.words {
                    let within = self.moved.iter().filter(|(original, _)| {
                        word.text
                            .strip_prefix(original.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '$']))
                    });
                    if let Some((original, new)) = within.max_by_key(|(original, _)| original.len()) {
                        word.text = format!("{new}{}", &word.text[original.len()..]);
                    }
                }
            }
            if let Some(block) = &mut directive.block {
                self.replace_moved(block);
            }
        }
    }
}

fn append_variables(directives: &[Directive], variables: &mut Vec<String>) {
    for directive in directives {
        if let ("root" | "alias", Some(path)) = (directive.name(), directive.word(0))
            && path.starts_with('$')
        {
            variables.push(path.to_owned());
        }
        append_variables(directive.children(), variables);
    }
}

/// The lines that only nginx gets: its own files in its folder.
pub(in super::super) fn lines_of_nginx(folder: &Path) -> Vec<Directive> {
    let path = |name: &str| folder.join("nginx").join(name).display().to_string();
    let mut lines = vec![
        made("daemon", &["off"]),
        // One process ends at once.
        made("master_process", &["off"]),
        made("pid", &[&path("pid")]),
        made("lock_file", &[&path("lock")]),
        made("error_log", &[&path("error.log")]),
    ];
    use std::os::unix::fs::MetadataExt as _;
    // Only root may change the user, and the files of a temporary folder are root's then.
    if fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        lines.push(made("user", &["root"]));
    }
    lines
}
