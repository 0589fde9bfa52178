//! How requests are shared out among servers.

/// How requests are shared out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// In turns, in proportion to the weights.
    #[default]
    RoundRobin,
    /// The server with the fewest requests in flight, in proportion to the weights.
    LeastRequests,
    /// The better of two random servers, by measured latency and requests in flight.
    Latency,
    /// The same one for the same value of a request, as long as it is there.
    Hash(HashKey),
}

/// The part of a request that selects its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address, without its port; trusted proxies may name it ([`serow_gateway::Forwarded::trusted`]).
    #[default]
    Client,
    /// The path, without the query.
    Path,
    /// The path with the query.
    Target,
    /// The host.
    Host,
    /// A header field.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// A parameter of the query.
    Query(String),
}
