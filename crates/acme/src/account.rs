//! The account at the authority (RFC 8555 §7.3).

use instant_acme::{Account, AccountBuilder, AccountCredentials, ExternalAccountKey, HttpClient, NewAccount};

use crate::{
    Authority,
    failure::{Failure, StaleState},
    storage::{Lease, Storage},
};

/// The account that is stored, or a new one.
pub(crate) async fn open(
    authority: &Authority,
    storage: &Storage,
    lease: &Lease,
    client: Box<dyn HttpClient>,
) -> Result<Account, Failure> {
    let key = storage_key(authority);
    if let Some(text) = storage.read(&key).await? {
        let credentials: AccountCredentials = serde_json::from_slice(&text).map_err(|error| Failure {
            stale: Some(StaleState::Account),
            ..Failure::local(format!("the stored account {key} is damaged ({error}): a new one is created"))
        })?;
        let restored = Account::builder_with_http(client).from_credentials(credentials).await;
        return restored.map_err(|error| Failure::of_authority(&error));
    }
    let builder = Account::builder_with_http(client);
    let (account, credentials) = create(authority, builder).await.map_err(|error| Failure::of_authority(&error))?;
    let text = serde_json::to_vec(&credentials).map_err(Failure::local)?;
    storage.write(lease, &key, &text).await?;
    tracing::info!("an account was created at {}", authority.directory);
    Ok(account)
}

/// Forgets the account, so that the next order creates another.
pub(crate) async fn forget(authority: &Authority, storage: &Storage, lease: &Lease) -> Result<(), Failure> {
    Ok(storage.remove(lease, &storage_key(authority)).await?)
}

async fn create(
    authority: &Authority,
    builder: AccountBuilder,
) -> Result<(Account, AccountCredentials), instant_acme::Error> {
    let email = authority.email.as_ref().map(|email| format!("mailto:{email}"));
    let contact: Vec<_> = email.as_deref().into_iter().collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let external = authority.external_account.as_ref();
    let external = external.map(|account| ExternalAccountKey::new(account.id.clone(), &account.key));
    builder.create(&new, authority.directory.clone(), external.as_ref()).await
}

pub(crate) fn storage_key(authority: &Authority) -> String {
    format!("{}/account.json", authority.folder())
}
