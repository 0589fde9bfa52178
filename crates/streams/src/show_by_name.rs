//! Numbers of the protocol as text.

/// Implements `Display` and `Debug` for a number by its `name`, or in hexadecimal digits where it has none.
#[macro_export]
macro_rules! show_by_name {
    ($number:ty) => {
        impl core::fmt::Display for $number {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => formatter.write_str(name),
                    None => write!(formatter, "{:#x}", self.0),
                }
            }
        }

        impl core::fmt::Debug for $number {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, formatter)
            }
        }
    };
}
