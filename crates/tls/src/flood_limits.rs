//! How often a peer may do what costs us and brings nothing.

use rustls::AlertDescription;

use crate::TlsError;

/// How often the peer may still do what costs us and brings nothing.
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
    /// A peer that goes on like this keeps the processor busy for nothing. The numbers are those of BoringSSL
    /// (`kMaxWarningAlerts`, `kMaxKeyUpdates`, `kMaxEmptyRecords`), which browsers and servers have in common; a second
    /// attempt to renegotiate after a refusal is one too many. Tickets cost what new keys do; servers send two to four.
    pub(crate) const NEW: Self =
        Self { warnings: 4, key_updates: 32, tickets: 32, empty_records: 32, renegotiations: 1 };

    /// There was data, which is what we are here for.
    #[inline]
    pub(crate) fn restore(&mut self) {
        self.key_updates = Self::NEW.key_updates;
        self.tickets = Self::NEW.tickets;
        self.empty_records = Self::NEW.empty_records;
    }
}

/// One time less.
pub(crate) fn take_one(flood_limits: &mut u8) -> Result<(), TlsError> {
    *flood_limits = flood_limits.checked_sub(1).ok_or(TlsError::Violation(AlertDescription::UnexpectedMessage))?;
    Ok(())
}
