//! A server and its authority in memory, and a clock that jumps to the next event.

mod authority;
mod damage;
mod early;
mod fallback;
mod lies;
mod year;

use std::{
    cell::Cell,
    env,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serow_tls::CertificateTable;
use tempfile::TempDir;
use tokio::{task::LocalSet, time::Instant};

use self::authority::SimulatedAuthority;
use crate::{
    AcmeSettings, Authority, CertificateControl, CertificateManager, CertificateRequest, ChallengeSettings,
    StoreSettings, Validity,
    authority::{Authorities, AuthorityAccess},
    issued::IssuedCertificate,
};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

thread_local! {
    static BEGIN: Cell<Option<(Instant, SystemTime)>> = const { Cell::new(None) };
}

/// The time of the simulation.
fn now() -> SystemTime {
    BEGIN.get().map_or(SystemTime::UNIX_EPOCH, |(begin, time)| time + begin.elapsed())
}

/// A server with a folder of certificates, which can be stopped and started.
struct Simulation {
    folder: TempDir,
    names: Vec<String>,
    settings: AcmeSettings,
    fallback: Option<SimulatedAuthority>,
}

impl Simulation {
    /// A server for so many names. The time begins.
    fn new(names: usize) -> Self {
        let start = SystemTime::UNIX_EPOCH + DAY * 20_000;
        BEGIN.set(Some((Instant::now(), start)));
        let folder = tempfile::tempdir_in(memory_folder()).expect("a folder");
        let names: Vec<_> = (0..names).map(|number| format!("n{number}.example.com")).collect();
        let request = |name: &String| CertificateRequest::new(vec![name.parse().expect("a name")]);
        let settings = AcmeSettings {
            certificates: names.iter().map(request).collect(),
            authority: Authority::new("https://ca.example/dir"),
            fallback: None,
            store: StoreSettings::Directory(folder.path().join("acme")),
            challenges: ChallengeSettings { tls_alpn: false, http: true, dns: None },
            table: CertificateTable::default(),
            on_demand: None,
        };
        Self { folder, names, settings, fallback: None }
    }

    /// The server has this fallback as well.
    fn with_fallback(mut self, authority: &SimulatedAuthority) -> Self {
        self.settings.fallback = Some(Authority::new(authority.url("dir")));
        self.fallback = Some(authority.clone());
        self
    }

    /// Where the files of its authority are.
    fn files(&self) -> PathBuf {
        self.folder.path().join("acme").join(self.settings.authority.folder())
    }

    /// Runs the server, with an empty table, until this future is ready, and stops it.
    async fn run<T, F: Future<Output = T>>(
        &mut self,
        authority: &SimulatedAuthority,
        until: impl FnOnce(CertificateControl, CertificateTable) -> F,
    ) -> T {
        self.settings.table = CertificateTable::default();
        let manager = CertificateManager::open(self.settings.clone()).expect("a manager");
        let access = |settings: &Authority, authority: &SimulatedAuthority| {
            authority.validate_at(manager.http_challenges());
            AuthorityAccess::new(settings.clone(), manager.storage(), authority.clone())
        };
        let fallback = self.settings.fallback.as_ref().zip(self.fallback.as_ref());
        let authorities = Authorities {
            first: access(&self.settings.authority, authority),
            fallback: fallback.map(|(settings, authority)| access(settings, authority)),
        };
        let until = until(manager.control(), self.settings.table.clone());
        LocalSet::new()
            .run_until(async {
                tokio::select! {
                    () = manager.maintain(authorities, now, Some(HOUR)) => unreachable!("it never ends"),
                    outcome = until => outcome,
                }
            })
            .await
    }
}

/// The certificate that clients get for a name.
fn validity(table: &CertificateTable, name: &str) -> Option<Validity> {
    IssuedCertificate::validity_of(&table.certificate(name)?)
}

/// Where files cost nothing, if there is such a place.
fn memory_folder() -> std::path::PathBuf {
    let memory = std::path::PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { env::temp_dir() }
}
