//! Certificates that clients must have.

use std::sync::Arc;

use serow_access::{CertificateRuleError, CertificateRules};
use serow_config::{tables::client_certificate::ClientCertificateTable, values::Texts};
use serow_document::{Place, Problem};
use serow_guards::ClientCertificates;

use super::Access;

/// Adds a text to the rules.
type Add = fn(&mut CertificateRules, &str) -> Result<(), CertificateRuleError>;

impl Access<'_> {
    pub(super) fn client_certificates(
        &self,
        table: &ClientCertificateTable,
        place: &Place,
    ) -> Option<Arc<ClientCertificates>> {
        if !self.has_client_authorities {
            let text = "no client sends a certificate without `tls-client-ca`: set it at the root, and for clients without \
                        a certificate `tls-client = \"optional\"`";
            return self.noted(Err(Problem::of_value(place.clone(), text)));
        }
        let mut rules = CertificateRules::default();
        let lists: [(&str, &Option<Texts>, Add); 3] = [
            ("subject", &table.subject, CertificateRules::add_subject),
            ("san", &table.san, CertificateRules::add_name),
            ("fingerprint", &table.fingerprint, CertificateRules::add_fingerprint),
        ];
        let mut are_right = true;
        for (key, texts, add) in lists {
            let Some(Texts(texts)) = texts else { continue };
            if texts.is_empty() {
                let text = format!("no certificate would be right: write a text, or leave `{key}` out");
                are_right &= self.noted::<()>(Err(Problem::of_value(place.key(key), text))).is_some();
            }
            for text in texts {
                let added = add(&mut rules, text);
                let added = added.map_err(|error| Problem::of_value(place.key(key), error.to_string()));
                are_right &= self.noted(added).is_some();
            }
        }
        let header = match &table.header {
            Some(name) => Some(self.user_field(name, &place.key("header"))?),
            None => None,
        };
        are_right.then(|| Arc::new(ClientCertificates::new(rules, header)))
    }
}
