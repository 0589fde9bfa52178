//! The threads that access control runs beside requests.

use std::{io, mem, path::Path};

use serow_access::{FileWatch, PasswordChecker, jwt::KeyFetcher, openid::ProviderThread};
use serow_admin::AccessCounts;
use serow_assembly::Configuration;
use serow_fleet::{Fleet, FleetThread};

use super::shared_bans;

/// The threads that access control runs beside requests, until this is dropped.
pub(super) struct AccessThreads {
    pub(super) counts: AccessCounts,
    fleet: Option<FleetThread>,
    _files: FileWatch,
    _passwords: Option<PasswordChecker>,
    _keys: KeyFetcher,
    _providers: ProviderThread,
}

impl AccessThreads {
    /// Key sets are kept in this folder, if there is one.
    pub(super) fn start(configuration: &mut Configuration, keys: Option<&Path>) -> io::Result<Self> {
        let Configuration { access, server, .. } = configuration;
        keys.iter().for_each(|folder| access.remote_keys.iter().for_each(|set| set.keep_in(folder)));
        if let Some(fleet) = &access.fleet {
            shared_bans::share(&server.bans, fleet);
        }
        let fleet = access.fleet.as_ref().map(Fleet::start).transpose()?;
        Ok(Self { fleet, ..Self::without_fleet(configuration)? })
    }

    /// Those of other settings from now on. The fleet is the same.
    pub(super) fn replace(&mut self, configuration: &mut Configuration) -> io::Result<()> {
        let next = Self::without_fleet(configuration)?;
        let fleet = self.fleet.take();
        *self = Self { fleet, ..next };
        Ok(())
    }

    fn without_fleet(configuration: &mut Configuration) -> io::Result<Self> {
        let access = &mut configuration.access;
        Ok(Self {
            counts: AccessCounts::of(access),
            fleet: None,
            _passwords: access.passwords.as_ref().map(PasswordChecker::start).transpose()?,
            _keys: KeyFetcher::start(mem::take(&mut access.remote_keys))?,
            _providers: ProviderThread::start(mem::take(&mut access.logins))?,
            _files: mem::take(&mut access.watched).watch()?,
        })
    }
}
