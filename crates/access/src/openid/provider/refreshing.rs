//! Sessions are refreshed: by one server, whichever of them have it.

use std::{sync::Arc, time::Duration};

use aws_lc_rs::rand;
use data_encoding::BASE64URL_NOPAD;
use serow_net::time;
use tokio::time::{sleep, timeout};

use super::{requests, worker::Worker};
use crate::openid::{
    refreshes::RefreshOutcome,
    session::Session,
    sharing::{RefreshStore, RefreshTurn, Sharing},
    token_response::{ProviderError, UserClaims},
};

/// Whose turn it is to refresh a session.
enum Turn<'a> {
    /// That of this server: it is alone.
    Alone,
    /// That of this server, as others know, if the store answers.
    Held { store: &'a dyn RefreshStore, name: String, holder: String },
    /// That of another server, which does not come to an end.
    Elsewhere,
    /// Another server has refreshed it.
    Refreshed(Session),
}

impl Worker {
    /// Refreshes a session.
    pub(super) async fn refresh(&self, session: &Session) -> RefreshOutcome {
        match self.turn(session).await {
            Turn::Refreshed(session) => RefreshOutcome::New(Arc::new(session)),
            Turn::Elsewhere => RefreshOutcome::Unavailable,
            Turn::Alone => self.refresh_here(session).await,
            Turn::Held { store, name, holder } => {
                let outcome = self.refresh_here(session).await;
                let refreshed = match &outcome {
                    RefreshOutcome::New(session) => self.login.sealed(session, time::seconds_since_1970()),
                    _ => None,
                };
                // The turn ends by itself if the store does not answer.
                let _ = timeout(STORE_TIMEOUT, store.end_turn(name, holder, refreshed)).await;
                outcome
            }
        }
    }

    async fn refresh_here(&self, session: &Session) -> RefreshOutcome {
        let Some(metadata) = self.provider.metadata() else { return RefreshOutcome::Unavailable };
        let request =
            requests::refresh(&self.provider.settings, &metadata, session.refresh_token.as_deref().unwrap_or_default());
        let response = match Self::token_response(&self.patient, request).await {
            Ok(response) => response,
            Err(ProviderError::Refused(_)) => return RefreshOutcome::Refused,
            Err(error) => {
                self.login.warn("sessions are not refreshed and go on", &error);
                return RefreshOutcome::Unavailable;
            }
        };
        if response.refresh_token.is_some() && response.refresh_token != session.refresh_token {
            self.login.note_rotation();
        }
        // From here on, the old token is of no use: whatever follows, the new one must not be lost.
        match self.refreshed_claims(&response, &session.subject, &metadata).await {
            Ok(claims) => self.login.refreshed(session, response.tokens(claims), time::seconds_since_1970()),
            Err(error) => {
                self.login.warn("sessions go on with the claims that they have", &error);
                RefreshOutcome::New(Arc::new(
                    session.rotated(response.tokens(UserClaims::Unchanged), time::seconds_since_1970()),
                ))
            }
        }
    }

    async fn turn(&self, session: &Session) -> Turn<'_> {
        let Some(Sharing::Store(store)) = self.login.sharing() else { return Turn::Alone };
        let mut holder = [0; 16];
        let (Some(name), Ok(())) = (self.login.store_name(session), rand::fill(&mut holder)) else {
            return Turn::Alone;
        };
        let (store, holder) = (&**store, BASE64URL_NOPAD.encode(&holder));
        for _ in 0..MAX_POLLS {
            let taken = store.take_turn(name.clone(), session.count, holder.clone());
            match timeout(STORE_TIMEOUT, taken).await {
                Ok(Ok(RefreshTurn::Ours)) => return Turn::Held { store, name, holder },
                Ok(Ok(RefreshTurn::Elsewhere)) => sleep(POLL_INTERVAL).await,
                Ok(Ok(RefreshTurn::Refreshed(sealed))) => {
                    let opened = self.login.opened(&sealed).filter(|other| {
                        other.id == session.id && other.subject == session.subject && other.count > session.count
                    });
                    return opened.map_or(Turn::Held { store, name, holder }, Turn::Refreshed);
                }
                // Sessions do not depend on the store: without it, each server refreshes what comes to it. The others may
                // learn of it afterwards.
                Ok(Err(_)) | Err(_) => return Turn::Held { store, name, holder },
            }
        }
        Turn::Elsewhere
    }
}

/// A store that takes longer counts as away.
const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval at which a server looks whether another one has finished, which takes it a fraction of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// After five seconds, requests have gone on with the session as it was.
const MAX_POLLS: u32 = 50;
