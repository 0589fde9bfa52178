//! Scripts that were found a moment ago: a busy site runs the same few in each of them.

use std::collections::HashMap;

use serow_gateway::CgiScript;

/// The scripts that one core has found, each for a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownScripts {
    /// By their paths below the folder: those that requests may run.
    scripts: HashMap<Vec<u8>, Known>,
    front_controller: Option<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    script: CgiScript,
    /// In milliseconds.
    found: u64,
}

impl KnownScripts {
    pub(crate) fn at(&self, path: &[u8], now: u64) -> Option<CgiScript> {
        self.scripts.get(path)?.recent(now)
    }

    pub(crate) fn keep(&mut self, path: &[u8], script: &CgiScript, now: u64) {
        if self.scripts.len() >= MAX_SCRIPTS {
            self.scripts.clear();
        }
        self.scripts.insert(path.to_vec(), Known { script: script.clone(), found: now });
    }

    pub(crate) fn front_controller(&self, now: u64) -> Option<CgiScript> {
        self.front_controller.as_ref()?.recent(now)
    }

    pub(crate) fn keep_front_controller(&mut self, script: &CgiScript, now: u64) {
        self.front_controller = Some(Known { script: script.clone(), found: now });
    }
}

impl Known {
    fn recent(&self, now: u64) -> Option<CgiScript> {
        (now.wrapping_sub(self.found) < FRESH_FOR).then(|| self.script.clone())
    }
}

/// As long as the descriptor of a served folder is used for its path, in milliseconds: no longer than a file that is about to
/// run may be replaced anyway.
const FRESH_FOR: u64 = 50;

/// Requests for ever other scripts must not fill the memory.
const MAX_SCRIPTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_for_a_moment_and_limited_in_number() {
        let script = |name: &str| CgiScript {
            filename: format!("/srv/{name}").into_bytes(),
            name: format!("/{name}").into_bytes(),
            path_info: None,
            document_root: b"/srv".to_vec(),
        };
        let mut known = KnownScripts::default();
        known.keep(b"a.php", &script("a.php"), 100);
        known.keep_front_controller(&script("index.php"), 100);
        assert_eq!(known.at(b"a.php", 149), Some(script("a.php")));
        assert_eq!(known.front_controller(149), Some(script("index.php")));
        assert_eq!((known.at(b"a.php", 150), known.front_controller(150)), (None, None));
        // The front controller may run, which does not say that clients may ask for it.
        assert_eq!(known.at(b"index.php", 100), None);
        for number in 0..MAX_SCRIPTS * 3 {
            known.keep(number.to_string().as_bytes(), &script("b.php"), 200);
            assert!(known.scripts.len() <= MAX_SCRIPTS);
        }
    }
}
