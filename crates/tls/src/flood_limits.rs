//! Limits against peers that send messages without data: warnings, key updates, tickets, empty records.

use rustls::AlertDescription;

use crate::TlsError;

/// How many more messages without data the peer may send.
pub(crate) struct FloodLimits {
    pub(crate) warnings: u8,
    /// In a row, without data between them.
    pub(crate) key_updates: u8,
    /// In a row, without data between them.
    pub(crate) tickets: u8,
    /// In a row.
    pub(crate) empty_records: u8,
    pub(crate) renegotiations: u8,
}

impl FloodLimits {
    /// Each costs processor time and carries no data, so a flood of them is an attack. The numbers are BoringSSL's
    /// (`kMaxWarningAlerts`, `kMaxKeyUpdates`, `kMaxEmptyRecords`), which browsers and servers share; a second attempt
    /// to renegotiate after a refusal is one too many. A ticket costs as much as a key update; servers send two to
    /// four.
    pub(crate) const NEW: Self =
        Self { warnings: 4, key_updates: 32, tickets: 32, empty_records: 32, renegotiations: 1 };

    /// Data has come: what must not come in a row may come again.
    #[inline]
    pub(crate) fn restore(&mut self) {
        self.key_updates = Self::NEW.key_updates;
        self.tickets = Self::NEW.tickets;
        self.empty_records = Self::NEW.empty_records;
    }
}

/// Takes one from a limit.
///
/// # Errors
///
/// When none is left.
pub(crate) fn take_one(flood_limits: &mut u8) -> Result<(), TlsError> {
    *flood_limits = flood_limits.checked_sub(1).ok_or(TlsError::Violation(AlertDescription::UnexpectedMessage))?;
    Ok(())
}
