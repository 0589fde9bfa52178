//! Whether this side's certificate is valid at this time. A server starts with one that is not, since it may have no
//! other, but clients reject it.

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

use crate::date::date;

/// Why the first certificate of a chain that is not valid at this time is not: a sentence.
pub(crate) fn problem(chain: &[CertificateDer<'_>], now: UnixTime) -> Option<String> {
    let problems = chain.iter().enumerate().filter_map(|(number, certificate)| {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        // The dates are verified before the signature, so that it does not matter that there is no authority.
        let usage = KeyUsage::server_auth();
        let reason = match certificate.verify_for_usage(&[], &[], &[], now, usage, None, None).err()? {
            Error::CertExpired { not_after, .. } => format!("expired on {}: renew it", date(not_after)),
            Error::CertNotValidYet { not_before, .. } => {
                format!("is not valid before {}: look at this machine's clock", date(not_before))
            }
            _ => return None,
        };
        Some(match number {
            0 => format!("the certificate {reason}"),
            _ => format!("a certificate of the chain {reason}"),
        })
    });
    { problems }.next()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn certificates_are_valid_between_their_dates_only() {
        let mut parameters = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(2021, 1, 1);
        let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone();
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        // 1,577,836,800 is 2020-01-01, and a leap year later is 2021-01-01.
        for (seconds, expected) in [
            (1_577_836_800 - 1, Some("the certificate is not valid before Wed, 01 Jan 2020 00:00:00 GMT")),
            (1_577_836_800 + 1, None),
            (1_609_459_200 - 1, None),
            (1_609_459_200 + 1, Some("the certificate expired on Fri, 01 Jan 2021 00:00:00 GMT: renew it")),
        ] {
            let found = problem(std::slice::from_ref(&certificate), at(seconds));
            assert_eq!(found.is_some(), expected.is_some(), "{seconds}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{seconds}");
        }
    }
}
