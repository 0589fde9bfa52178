//! The preferred one of the certificate chains that an authority offers (RFC 8555 §7.4.2).

use instant_acme::Account;
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{issued, response_notes};

/// The chain whose topmost certificate is issued by this common name, of those that the authority offers for a
/// certificate; this one, which has just arrived, if there is none.
pub(crate) async fn preferred(account: &Account, chain: String, name: &str) -> String {
    let alternates = response_notes::take_chain().map(|offered| offered.alternates).unwrap_or_default();
    let mut offered = Vec::new();
    offered.extend(topmost_issuer(&chain));
    if offered.iter().any(|issuer| issuer == name) {
        return chain;
    }
    for url in alternates.into_iter().take(MAX_ALTERNATES) {
        let Some(alternate) = fetch(account, &url).await else {
            tracing::warn!("the authority's alternate chain {url} cannot be fetched");
            continue;
        };
        // Another certificate would be one that was not ordered.
        if certificates(&alternate).next() != certificates(&chain).next() {
            continue;
        }
        match topmost_issuer(&alternate) {
            Some(issuer) if issuer == name => return alternate,
            issuer => offered.extend(issuer),
        }
    }
    tracing::warn!(
        "`acme-chain`: the authority offers no chain of {name:?}, but of {}: the first one is in use",
        offered.iter().map(|issuer| format!("{issuer:?}")).collect::<Vec<_>>().join(", ")
    );
    chain
}

/// An alternate chain. The ACME library signs requests for orders, not for other URLs: so it requests an "order" there,
/// and cannot read the response as one, which has been noted before.
async fn fetch(account: &Account, url: &str) -> Option<String> {
    let _not_an_order = account.order(url.to_owned()).await;
    response_notes::take_chain().map(|offered| offered.pem)
}

/// The common name of the issuer of the last certificate.
fn topmost_issuer(chain: &str) -> Option<String> {
    issued::issuer_of(&certificates(chain).last()?)
}

fn certificates(chain: &str) -> impl Iterator<Item = CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(chain.as_bytes()).map_while(Result::ok)
}

/// Let's Encrypt has offered two at most; more would be an attack on our time.
const MAX_ALTERNATES: usize = 8;

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn the_topmost_issuer_of_a_chain_is_the_issuer_of_its_last_certificate() {
        let authority = |name: &str| {
            let mut parameters = CertificateParams::default();
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            parameters.distinguished_name.push(DnType::CommonName, name);
            parameters
        };
        let [root_key, intermediate_key, key] = [(); 3].map(|()| KeyPair::generate().unwrap());
        let root = Issuer::new(authority("Root X1"), root_key);
        let intermediate = authority("Intermediate E1").signed_by(&intermediate_key, &root).unwrap().pem();
        let issuer = Issuer::new(authority("Intermediate E1"), intermediate_key);
        let leaf = CertificateParams::new(vec!["example.com".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &issuer).unwrap().pem();
        for (chain, expected) in [
            (leaf.clone(), Some("Intermediate E1")),
            (format!("{leaf}{intermediate}"), Some("Root X1")),
            (format!("{leaf}\n\n{intermediate}text"), Some("Root X1")),
            ("nothing".to_owned(), None),
            ("-----BEGIN CERTIFICATE-----\nMIIBAAAA\n-----END CERTIFICATE-----\n".to_owned(), None),
        ] {
            assert_eq!(topmost_issuer(&chain).as_deref(), expected, "{chain}");
        }
    }
}
