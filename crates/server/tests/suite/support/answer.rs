//! The response that a client received, whichever version carried it.

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head as it was sent, without the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The lines behind the last chunk.
    pub(crate) trailers: String,
}

impl Answer {
    /// The value of a field that stands there once at most.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.head.split("\r\n").skip(1).filter_map(|line| {
            let (other, value) = line.split_once(": ").expect("a field");
            other.eq_ignore_ascii_case(name).then_some(value)
        });
        let value = values.next();
        assert_eq!(values.next(), None, "{name} twice in {}", self.head);
        value
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether another one follows to the same request.
    pub(crate) fn is_informational(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// Whether it says that the connection ends behind it.
    pub(crate) fn closes(&self) -> bool {
        self.field("connection").is_some_and(|value| value.contains("close"))
    }
}
