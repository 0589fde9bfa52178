//! Certificates by ACME.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{
    AcmeDirectory, AcmeStore, CertificateNames, Count, DnsProviderRule, OnDemandUrl, OrderRateRule, Span, choice,
};

/// Certificates by ACME; in a settings file, the table `[acme]`.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<AcmeOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Automatic certificates")]
pub struct AcmeOptions {
    /// Obtain and renew a certificate for these names by ACME (repeatable: one certificate for each list).
    ///
    /// The names must lead to this server, on port 443 or 80. Without --listen, Serow then listens on :443, and
    /// redirects from :80. A wildcard (*.example.com) needs --acme-dns. Until the first certificate arrives, clients get
    /// a self-signed one. By using this, you agree to the terms of service of the authority.
    #[arg(long = "acme", id = "acme", value_name = "NAME[,NAME…]")]
    pub names: Vec<CertificateNames>,

    /// Mail address that the authority may write to.
    #[arg(long = "acme-email", id = "acme-email", value_name = "ADDRESS")]
    pub email: Option<String>,

    /// Authority: letsencrypt, staging (its authority for tests) or the URL of a directory.
    #[arg(long = "acme-directory", id = "acme-directory", value_name = "URL", default_value = "letsencrypt")]
    pub directory: AcmeDirectory,

    /// Certificate authorities that the authority's own server is verified with, in PEM format [default: those of the
    /// system]
    #[arg(long = "acme-ca", id = "acme-ca", value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Kind of certificate, of those that the authority offers, such as shortlived [default: the authority's]
    #[arg(long = "acme-profile", id = "acme-profile", value_name = "NAME")]
    pub profile: Option<String>,

    /// Chain to send, of those that the authority offers for a certificate: the one whose last certificate is issued by
    /// this common name, as in "ISRG Root X1" [default: the authority's]
    ///
    /// It applies to the next certificate. If there is no such chain, the first one is in use, and the error log has the
    /// names of those on offer.
    #[arg(long = "acme-chain", id = "acme-chain", value_name = "NAME")]
    pub chain: Option<String>,

    /// Second authority, for certificates that expire soon, or do not exist yet, while the first one fails: letsencrypt,
    /// staging or the URL of a directory.
    ///
    /// If an order fails at the first authority and the certificate has more than half of its renewal reserve left (15 of
    /// 90 days), the first authority is tried again later. Otherwise the order goes on at the second one at once. By using
    /// this, you agree to its terms of service as well.
    #[arg(long = "acme-fallback", id = "acme-fallback", value_name = "URL")]
    pub fallback: Option<AcmeDirectory>,

    /// Certificate authorities that the server of --acme-fallback is verified with, in PEM format [default: those of the
    /// system]
    #[arg(long = "acme-fallback-ca", id = "acme-fallback-ca", value_name = "FILE")]
    pub fallback_ca: Option<PathBuf>,

    /// Identifier of the account at the authority of --acme-fallback that the ACME account belongs to.
    #[arg(long = "acme-fallback-eab-kid", id = "acme-fallback-eab-kid", value_name = "ID")]
    pub fallback_eab_kid: Option<String>,

    /// File with the key of that account, as the authority shows it (base64url).
    #[arg(long = "acme-fallback-eab-key-file", id = "acme-fallback-eab-key-file", value_name = "FILE")]
    pub fallback_eab_key_file: Option<PathBuf>,

    /// Folder for certificates, keys and the account [default: acme in $STATE_DIRECTORY, $XDG_STATE_HOME/serow or
    /// ~/.local/state/serow]
    ///
    /// Only its owner may read it. Processes that share it share the certificates as well: each is ordered once.
    #[arg(long = "acme-dir", id = "acme-dir", value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Redis server in which a fleet shares certificates, keys and the account, instead of --acme-dir, as in
    /// redis://:PASSWORD@10.0.0.1:6379/0, rediss:// with TLS or unix:///run/redis/redis.sock
    ///
    /// Each certificate is ordered once for all servers. Any of them can answer the authority, so the names may lead to
    /// all. A new certificate is in use everywhere within two seconds. While Redis is down, servers that run keep their
    /// certificates, and a server starts with the copy in `store` below the folder of --acme-dir: what this machine last
    /// read. The values, and that copy, are encrypted with --acme-store-secret.
    #[arg(long = "acme-store", id = "acme-store", value_name = "URL")]
    pub store: Option<AcmeStore>,

    /// File with the secret that encrypts what is in --acme-store: at least 32 bytes, the same for all servers.
    ///
    /// `openssl rand -base64 33` makes one. Other users must not be able to read the file.
    #[arg(long = "acme-store-secret", id = "acme-store-secret", value_name = "FILE")]
    pub store_secret: Option<PathBuf>,

    /// Certificate authorities that the server of --acme-store is verified with, in PEM format, for rediss:// [default:
    /// those of the system]
    #[arg(long = "acme-store-ca", id = "acme-store-ca", value_name = "FILE")]
    pub store_ca: Option<PathBuf>,

    /// Prefix of the names of all keys in --acme-store [default: serow:]
    ///
    /// Fleets with different prefixes share a database.
    #[arg(long = "acme-store-prefix", id = "acme-store-prefix", value_name = "PREFIX")]
    pub store_prefix: Option<String>,

    /// Kind of the private keys. Each certificate has a new key.
    #[arg(long = "acme-key", id = "acme-key", value_name = "KIND", default_value = "ecdsa-p256")]
    pub key: KeyChoice,

    /// Provider that changes DNS records (dns-01): a program, or the primary name server of the zone; or persist, if a
    /// record was added once (dns-persist-01).
    ///
    /// A name server (rfc2136:ns1.example.com) receives updates of the zone, signed with the key of --acme-dns-key. Serow
    /// then waits until all name servers of the zone that answer have the record, for two minutes at most. If
    /// _acme-challenge.NAME is an alias (CNAME), its target is changed.
    ///
    /// A program is run as PROGRAM present|cleanup RECORD VALUE, the convention of lego's provider exec: RECORD is as in
    /// _acme-challenge.example.com. (with the dot), VALUE the text of a TXT record. It is killed after two minutes.
    ///
    /// With persist, nothing is changed: a permanent record of _validation-persist.NAME lets the ACME account order
    /// certificates. As long as it is missing, the error log and `serow certificates` have the whole record. Serow looks
    /// it up with the name servers of the system, or with persist:ADDRESS:PORT at this one.
    #[arg(long = "acme-dns", id = "acme-dns", value_name = "PROGRAM|rfc2136:SERVER[:PORT]|persist")]
    pub dns: Option<DnsProviderRule>,

    /// File with the key for --acme-dns rfc2136:SERVER (TSIG), as tsig-keygen writes it: hmac-sha256, hmac-sha384 or
    /// hmac-sha512.
    #[arg(long = "acme-dns-key", id = "acme-dns-key", value_name = "FILE")]
    pub dns_key: Option<PathBuf>,

    /// How long to wait after the program of --acme-dns has ended, or all name servers that answer have the record.
    #[arg(long = "acme-dns-wait", id = "acme-dns-wait", value_name = "TIME", default_value = "0")]
    pub dns_wait: Span,

    /// Order a certificate when a client requests a name that has none, if this URL allows it: the name is appended, as
    /// in http://127.0.0.1:9000/allowed?name=, and a status from 200 to 299 allows it.
    ///
    /// For names of your customers. It needs no --acme. The handshake waits until the certificate arrives, 30 seconds or
    /// --head-timeout at most. The program that answers should allow only names of customers, since anyone can request
    /// any name. Wildcards, addresses and names without a dot are never ordered.
    #[arg(long = "acme-on-demand", id = "acme-on-demand", value_name = "URL")]
    pub on_demand: Option<OnDemandUrl>,

    /// How many orders on demand may begin in a second, a minute or an hour, as in 1/s, 5/m or 100/h.
    ///
    /// A customer with many names could otherwise use up the limits of your account at the authority.
    #[arg(long = "acme-on-demand-rate", id = "acme-on-demand-rate", value_name = "COUNT/UNIT", default_value = "5/m")]
    pub on_demand_rate: OrderRateRule,

    /// How many names may have a certificate on demand at the same time.
    #[arg(long = "acme-on-demand-limit", id = "acme-on-demand-limit", value_name = "COUNT", default_value = "1000")]
    pub on_demand_limit: Count<1, 1_000_000>,

    /// Identifier of the account at the authority that the ACME account belongs to (external account binding).
    #[arg(long = "acme-eab-kid", id = "acme-eab-kid", value_name = "ID")]
    pub eab_kid: Option<String>,

    /// File with the key of that account, as the authority shows it (base64url).
    #[arg(long = "acme-eab-key-file", id = "acme-eab-key-file", value_name = "FILE")]
    pub eab_key_file: Option<PathBuf>,
}

/// The kind of private keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyChoice {
    /// ECDSA with P-256.
    #[value(name = "ecdsa-p256", help = None)]
    EcdsaP256,
    /// ECDSA with P-384.
    #[value(name = "ecdsa-p384", help = None)]
    EcdsaP384,
    /// RSA with 2,048 bits.
    #[value(name = "rsa-2048", help = None)]
    Rsa2048,
}

choice!(KeyChoice, "KindOfKey");
