//! With a real Redis server, which each test starts for itself.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serow_requirements::requires;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use serow_message::RedisUrl;

use super::*;
use crate::storage::Changes;

/// A Redis server on a socket in a folder of its own.
struct Server {
    folder: TempDir,
    process: Child,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Self::process(folder.path());
        Self { folder, process }
    }

    fn process(folder: &Path) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(folder.join("redis.sock")).current_dir(folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn address(&self) -> RedisUrl {
        format!("unix://{}", self.folder.path().join("redis.sock").display()).parse().unwrap()
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// A storage with this secret, when Redis has settled.
    async fn open(&self, secret: &str) -> Result<RedisStorage, StorageError> {
        let storage = RedisStorage::new(&self.settings(secret)).unwrap();
        storage.connect(Duration::from_secs(5)).await?;
        command::<i64>(&storage, &["DEL", &storage.connection.key(connection::SETTLING)]).await;
        Ok(storage)
    }

    fn settings(&self, secret: &str) -> RedisStoreSettings {
        let path = self.folder.path().join(secret);
        std::fs::write(&path, secret.repeat(32)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let (address, secret) = (self.address(), StoreSecret::of_file(&path).unwrap());
        RedisStoreSettings::new(address, secret)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn command<T: redis::FromRedisValue>(storage: &RedisStorage, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    storage.connection.call(&command).await.unwrap()
}

async fn lock(storage: &RedisStorage, name: &str) -> RedisLease {
    storage.lock(name).await.unwrap().unwrap()
}

/// Waits until something holds that another task or process does.
async fn eventually<F: AsyncFnMut() -> bool>(mut holds: F) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(Instant::now() < deadline, "it does not hold within 10 s");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn values_are_shared_and_encrypted() {
    requires!("program:redis-server");
    let server = Server::start();
    let (one, other) = (server.open("a").await.unwrap(), server.open("a").await.unwrap());
    let lease = lock(&one, "a").await;
    one.write(&lease, "a/b.pem", b"PRIVATE KEY").await.unwrap();
    assert_eq!(other.read("a/b.pem").await.unwrap().unwrap(), b"PRIVATE KEY");
    assert_eq!(other.read("a/c.pem").await.unwrap(), None);
    let stored: Vec<u8> = command(&one, &["GET", &one.value_key("a/b.pem")]).await;
    assert!(!stored.windows(3).any(|part| part == b"KEY"));
    // An attacker who can write to Redis cannot give a name the certificate of another one.
    command::<i64>(&one, &["COPY", &one.value_key("a/b.pem"), &one.value_key("a/c.pem")]).await;
    assert!(matches!(other.read("a/c.pem").await, Err(StorageError::Sealed(..))));
    one.remove(&lease, "a/b.pem").await.unwrap();
    assert_eq!(other.read("a/b.pem").await.unwrap(), None);
}

#[tokio::test]
async fn fleets_with_different_prefixes_share_a_database() {
    requires!("program:redis-server");
    let server = Server::start();
    let one = server.open("a").await.unwrap();
    let other = RedisStorage::new(&RedisStoreSettings { prefix: "other:".to_owned(), ..server.settings("b") }).unwrap();
    other.connect(Duration::from_secs(5)).await.unwrap();
    command::<i64>(&other, &["DEL", &other.connection.key(connection::SETTLING)]).await;
    let (lease, other_lease) = (lock(&one, "a").await, lock(&other, "a").await);
    one.write(&lease, "a.pem", b"one").await.unwrap();
    assert_eq!(other.read("a.pem").await.unwrap(), None);
    other.write(&other_lease, "a.pem", b"other").await.unwrap();
    assert_eq!(one.read("a.pem").await.unwrap().unwrap(), b"one");
    let keys: Vec<String> = command(&one, &["KEYS", "*"]).await;
    let (of_one, of_other) = ("serow:{acme}:", "other:{acme}:");
    assert!(keys.iter().all(|key| key.starts_with(of_one) || key.starts_with(of_other)), "{keys:?}");
    assert_eq!(keys.iter().filter(|key| key.starts_with(of_one)).count() * 2, keys.len(), "{keys:?}");
}

#[tokio::test]
async fn another_secret_is_refused_at_start() {
    requires!("program:redis-server");
    let server = Server::start();
    let _first = server.open("a").await.unwrap();
    let storage = RedisStorage::new(&server.settings("b")).unwrap();
    let error = storage.connect(Duration::ZERO).await.unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains("acme-store-secret"), "{error}");
}

#[tokio::test]
async fn one_has_the_lock_until_it_drops_it() {
    requires!("program:redis-server");
    let server = Server::start();
    let (one, other) = (server.open("a").await.unwrap(), server.open("a").await.unwrap());
    let lease = lock(&one, "a").await;
    assert!(other.lock("a").await.unwrap().is_none());
    assert!(other.lock("b").await.unwrap().is_some());
    let left: i64 = command(&one, &["PTTL", lease.key()]).await;
    assert!((25_000..=30_000).contains(&left), "{left}");
    drop(lease);
    eventually(async || other.lock("a").await.unwrap().is_some()).await;
}

#[tokio::test]
async fn a_holder_that_was_replaced_cannot_write_and_stops() {
    requires!("program:redis-server");
    let server = Server::start();
    let (one, other) = (server.open("a").await.unwrap(), server.open("a").await.unwrap());
    let old = lock(&one, "a").await;
    // As when the lease has ended while the process stood still.
    command::<i64>(&other, &["DEL", old.key()]).await;
    let new = lock(&other, "a").await;
    let token = |lease: &RedisLease| lease.owner().split('-').next().unwrap().parse::<u64>().unwrap();
    assert!(token(&new) > token(&old));
    other.write(&new, "a/order.json", b"new").await.unwrap();
    assert!(timeout(Duration::from_millis(10), old.lost()).await.is_err());
    assert!(matches!(one.write(&old, "a/order.json", b"old").await, Err(StorageError::LeaseLost)));
    assert!(matches!(one.remove(&old, "a/order.json").await, Err(StorageError::LeaseLost)));
    old.lost().await;
    assert_eq!(one.read("a/order.json").await.unwrap().unwrap(), b"new");
    // Nor does it give up the lock of the other one.
    drop(old);
    one.close().await;
    other.write(&new, "a/order.json", b"newer").await.unwrap();
    // Its lease has ended: it does not even take a lock that nobody has.
    new.lose();
    command::<i64>(&other, &["DEL", new.key()]).await;
    assert!(matches!(other.write(&new, "a/order.json", b"late").await, Err(StorageError::LeaseLost)));
}

#[tokio::test]
async fn changes_of_others_are_noticed_and_challenges_answered() {
    requires!("program:redis-server");
    let server = Server::start();
    let one = server.open("a").await.unwrap();
    let other = Arc::new(server.open("a").await.unwrap());
    let lease = lock(&one, "a").await;
    one.write(&lease, "challenges/http/earlier", b"text").await.unwrap();
    let mut watch = RedisWatch::new(Arc::clone(&other));
    assert_eq!(watch.changes().await, Changes::All);
    assert_eq!(other.read_challenge("challenges/http/earlier").unwrap(), b"text");
    assert_eq!(watch.changes().await, Changes::Keys(vec![]));
    for key in ["x/certificates/a.pem", "x/certificates/b.pem", "x/certificates/a.pem", "challenges/http/token"] {
        one.write(&lease, key, b"value").await.unwrap();
    }
    assert_eq!(other.read_challenge("challenges/http/token"), None);
    let keys = ["x/certificates/b.pem", "x/certificates/a.pem"].map(str::to_owned);
    assert_eq!(watch.changes().await, Changes::Keys(keys.to_vec()));
    assert_eq!(other.read_challenge("challenges/http/token").unwrap(), b"value");
    one.remove(&lease, "challenges/http/token").await.unwrap();
    assert_eq!(watch.changes().await, Changes::Keys(vec![]));
    assert_eq!(other.read_challenge("challenges/http/token"), None);
}

#[tokio::test]
async fn a_redis_that_has_lost_everything_gets_back_what_its_servers_have() {
    requires!("program:redis-server");
    let mut server = Server::start();
    let one = Arc::new(server.open("a").await.unwrap());
    let other = server.open("a").await.unwrap();
    let mut watch = RedisWatch::new(Arc::clone(&one));
    let lease = lock(&one, "a").await;
    one.write(&lease, "a.pem", b"first").await.unwrap();
    assert_eq!(watch.changes().await, Changes::All);
    server.stop();
    let begun = Instant::now();
    assert!(matches!(one.read("a.pem").await, Err(StorageError::Unreachable(..))));
    assert_eq!(watch.changes().await, Changes::Keys(vec![]));
    assert!(begun.elapsed() < Duration::from_secs(2));
    server.process = Server::process(server.folder.path());
    eventually(async || watch.changes().await == Changes::All).await;
    // No server orders before the others have written back their values; an order that was begun goes on.
    assert!(one.lock("b").await.unwrap().is_none());
    eventually(async || other.read("a.pem").await.is_ok()).await;
    assert!(other.lock("b").await.unwrap().is_none());
    one.write(&lease, "order.json", b"order").await.unwrap();
    assert!(one.restore("a.pem", None, b"first").await.unwrap());
    assert!(!other.restore("a.pem", None, b"other").await.unwrap());
    assert!(other.restore("a.pem", Some(b"first"), b"newer").await.unwrap());
    assert_eq!(one.read("a.pem").await.unwrap().unwrap(), b"newer");
    assert_eq!(watch.changes().await, Changes::Keys(vec!["order.json".to_owned(), "a.pem".to_owned()]));
}

#[tokio::test]
async fn a_redis_that_was_emptied_is_noticed() {
    requires!("program:redis-server");
    let server = Server::start();
    let storage = Arc::new(server.open("a").await.unwrap());
    let mut watch = RedisWatch::new(Arc::clone(&storage));
    let lease = lock(&storage, "a").await;
    storage.write(&lease, "challenges/http/token", b"text").await.unwrap();
    assert_eq!(watch.changes().await, Changes::All);
    command::<String>(&storage, &["FLUSHALL"]).await;
    assert!(storage.lock("b").await.unwrap().is_none());
    eventually(async || watch.changes().await == Changes::All).await;
    assert_eq!(storage.read_challenge("challenges/http/token"), None);
    assert!(storage.lock("b").await.unwrap().is_none());
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_an_error_that_names_it() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "a".repeat(32)).unwrap();
    // The discard port, on which nothing listens.
    let address = "redis://:password@127.0.0.1:9".parse().unwrap();
    let connection =
        RedisConnection::new(&RedisStoreSettings::new(address, StoreSecret::of_file(secret.path()).unwrap())).unwrap();
    let error = connection.call::<String>(&redis::cmd("PING")).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:9") && !error.contains("password"), "{error}");
}

#[tokio::test]
async fn a_connection_with_tls_is_verified() {
    requires!("program:redis-server");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["own", "other"] {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        std::fs::write(path(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    let [port] = serow_ports::free_ports();
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--tls-auth-clients", "no", "--tls-port", &port.to_string()]);
    command.args(["--tls-cert-file", "own.pem", "--tls-key-file", "own.key", "--tls-ca-cert-file", "own.pem"]);
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Server { process: command.spawn().unwrap(), folder: tempfile::tempdir().unwrap() };
    std::fs::write(path("secret"), "a".repeat(32)).unwrap();
    std::fs::set_permissions(path("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for (ca, is_accepted) in [("own.pem", true), ("other.pem", false)] {
        let (address, secret) = (format!("rediss://127.0.0.1:{port}").parse().unwrap(), path("secret"));
        let secret = StoreSecret::of_file(&secret).unwrap();
        let mut settings = RedisStoreSettings { ca: Some(path(ca)), ..RedisStoreSettings::new(address, secret) };
        settings.read_authorities().unwrap();
        let storage = RedisStorage::new(&settings).unwrap();
        let timeout = if is_accepted { Duration::from_secs(10) } else { Duration::ZERO };
        let outcome = storage.connect(timeout).await;
        assert_eq!(outcome.is_ok(), is_accepted, "{ca}: {outcome:?}");
    }
}
