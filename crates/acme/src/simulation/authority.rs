//! A certificate authority in memory (RFC 8555, RFC 9773): it validates by http-01, and some of its answers are faulty.

use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use data_encoding::BASE64URL_NOPAD;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, IsCa, Issuer, KeyPair, SanType, SerialNumber,
};
use rustls_pki_types::CertificateSigningRequestDer;
use serde_json::{Value, json};

use crate::HttpChallenges;

/// Faults of the simulated authority.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// Of a hundred answers, so many are faulty.
    pub(super) of_hundred: u32,
    /// Times in which the authority does not answer, from the key to the value.
    pub(super) outages: BTreeMap<SystemTime, SystemTime>,
}

/// How an authority deceives those who order a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    /// The certificate is for another key.
    OtherKey,
    /// The certificate is for another name.
    OtherName,
    /// The certificate has expired.
    Expired,
    /// The certificate is in PEM, and nothing that is in it can be read.
    Damaged,
    /// In place of the certificate there is other text.
    OtherText,
    /// The order is finished, and there is no certificate.
    NoCertificate,
    /// The order is never finished.
    NeverFinished,
    /// The order becomes invalid when it is finished.
    Invalid,
}

/// When to renew a certificate that was issued at a time, with a lifetime.
pub(super) type Suggestion = fn(SystemTime, Duration) -> (SystemTime, SystemTime);

/// The counters of the authority.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) orders: usize,
    pub(super) issued: usize,
    pub(super) faults: usize,
    /// Requests that concern another authority: its URLs and its certificates.
    pub(super) strays: usize,
}

/// A certificate authority; clones are the same.
#[derive(Clone)]
pub(super) struct SimulatedAuthority {
    state: Arc<Mutex<AuthorityState>>,
}

struct AuthorityState {
    origin: &'static str,
    first_serial: u64,
    now: fn() -> SystemTime,
    lifetime: Duration,
    faults: Faults,
    lie: Option<Lie>,
    has_windows: bool,
    /// The window for a certificate that was issued then and lives so long.
    suggestion: Suggestion,
    challenges: HttpChallenges,
    issuer: Issuer<'static, KeyPair>,
    issuer_pem: String,
    orders: Vec<Order>,
    /// Moments of issue, by the serial number that ARI asks for.
    issued: HashMap<String, SystemTime>,
    counts: Counts,
    /// A simple generator of numbers (xorshift), so that every run is the same.
    random: u64,
}

struct Order {
    name: String,
    status: OrderStatus,
    certificate: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderStatus {
    Pending,
    Ready,
    Processing,
    Valid,
    Invalid,
}

impl SimulatedAuthority {
    pub(super) fn new(now: fn() -> SystemTime, lifetime: Duration, faults: Faults, has_windows: bool) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let state = AuthorityState {
            origin: "https://ca.example",
            first_serial: 1,
            now,
            lifetime,
            faults,
            lie: None,
            has_windows,
            // The middle of the certificate's life, and eight hours more.
            suggestion: |issued, lifetime| {
                (issued + lifetime / 2, issued + lifetime / 2 + Duration::from_secs(8 * 3600))
            },
            challenges: HttpChallenges::default(),
            issuer_pem: certificate.pem(),
            issuer: Issuer::new(parameters, key),
            orders: Vec::new(),
            issued: HashMap::new(),
            counts: Counts::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Another one than the one that [`SimulatedAuthority::new`] creates.
    pub(super) fn other(self) -> Self {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.origin, state.first_serial) = ("https://other.example", 1_000_000);
        }
        self
    }

    /// A URL of it.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.state.lock().unwrap_or_else(PoisonError::into_inner).origin)
    }

    /// From now on it deceives, or not any more. Orders that were finished stay as they are.
    pub(super) fn deceive(&self, lie: Option<Lie>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lie = lie;
    }

    /// From now on it suggests these windows.
    pub(super) fn suggest(&self, suggestion: Suggestion) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).suggestion = suggestion;
    }

    /// Answers the challenges of this server.
    pub(super) fn validate_at(&self, challenges: HttpChallenges) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).challenges = challenges;
    }

    pub(super) fn counts(&self) -> Counts {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).counts
    }
}

impl HttpClient for SimulatedAuthority {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            // A simulated network.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_or_else(|never| match never {}, |body| body.to_bytes());
            let answer = {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if !head.uri.to_string().starts_with(&format!("{}/", state.origin)) {
                    state.counts.strays += 1;
                }
                state.answer(head.uri.path(), &body)
            };
            let response = answer.ok_or_else(|| instant_acme::Error::Other("connection refused".into()))?;
            Ok(BytesResponse::from(response.map(|text| Full::new(Bytes::from(text)))))
        })
    }
}

impl AuthorityState {
    /// Nothing where nobody answers.
    fn answer(&mut self, path: &str, body: &[u8]) -> Option<Response<String>> {
        let now = (self.now)();
        if self.faults.outages.iter().any(|(start, end)| (*start..*end).contains(&now)) {
            self.counts.faults += 1;
            return None;
        }
        if self.number(100) >= u64::from(self.faults.of_hundred) {
            return Some(self.process(path, body));
        }
        self.counts.faults += 1;
        // The request may have been processed before the answer was lost.
        if self.number(2) == 0 {
            self.process(path, body);
        }
        let problem =
            |kind: &str| json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": "simulated" });
        let (status, text) = match self.number(6) {
            0 => return None,
            1 => (503, problem("serverInternal").to_string()),
            2 => (400, problem("badNonce").to_string()),
            3 => (429, problem("rateLimited").to_string()),
            4 => (200, "{\"status\": \"pen".to_owned()),
            _ => (502, "<html>Bad Gateway</html>".to_owned()),
        };
        Some(response(status, text))
    }

    fn process(&mut self, path: &str, body: &[u8]) -> Response<String> {
        let payload = payload(body);
        let mut parts = path.trim_start_matches('/').split('/');
        let (kind, number) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let order = number.parse::<usize>().ok().filter(|number| *number < self.orders.len());
        match (kind, order) {
            ("dir", _) => response(200, self.directory().to_string()),
            ("nonce", _) => response(200, String::new()),
            ("account", _) => self.located(201, "account/1", "{\"status\":\"valid\"}".to_owned()),
            ("new-order", _) => self.new_order(&payload),
            ("order", Some(order)) => response(200, self.order(order).to_string()),
            ("authorization", Some(order)) => response(200, self.authorization(order).to_string()),
            ("challenge", Some(order)) => {
                self.validate(order);
                response(200, self.authorization(order)["challenges"][0].to_string())
            }
            ("finalize", Some(order)) => self.finalize(order, &payload),
            ("certificate", Some(order)) => response(200, self.orders[order].certificate.clone().unwrap_or_default()),
            ("ari", _) => self.window(number),
            _ => response(404, json!({ "type": "urn:ietf:params:acme:error:malformed" }).to_string()),
        }
    }

    fn directory(&self) -> Value {
        let url = |path: &str| format!("{}/{path}", self.origin);
        let mut directory =
            json!({ "newNonce": url("nonce"), "newAccount": url("account"), "newOrder": url("new-order"), "meta": {} });
        if self.has_windows {
            directory["renewalInfo"] = url("ari").into();
        }
        directory
    }

    /// As Boulder does, an order that is not finished is returned again for the same names.
    fn new_order(&mut self, payload: &Value) -> Response<String> {
        let name = payload["identifiers"][0]["value"].as_str().unwrap_or_default().to_owned();
        let is_open = |order: &Order| matches!(order.status, OrderStatus::Pending | OrderStatus::Ready);
        let open =
            self.orders.iter().rposition(|order| order.name == name).filter(|order| is_open(&self.orders[*order]));
        let number = open.unwrap_or_else(|| {
            self.counts.orders += 1;
            self.orders.push(Order { name, status: OrderStatus::Pending, certificate: None });
            self.orders.len() - 1
        });
        let mut order = self.order(number);
        if let Some(replaces) = payload.get("replaces") {
            order["replaces"] = replaces.clone();
            let is_own = replaces.as_str().is_some_and(|identifier| self.issued.contains_key(serial_of(identifier)));
            self.counts.strays += usize::from(!is_own);
        }
        self.located(201, &format!("order/{number}"), order.to_string())
    }

    fn order(&self, number: usize) -> Value {
        let url = |path: &str| format!("{}/{path}/{number}", self.origin);
        let order = &self.orders[number];
        let mut text = json!({ "status": order.status.name(), "authorizations": [url("authorization")],
                               "finalize": url("finalize") });
        if order.certificate.is_some() {
            text["certificate"] = url("certificate").into();
        }
        text
    }

    fn authorization(&self, number: usize) -> Value {
        let order = &self.orders[number];
        let status = match order.status {
            OrderStatus::Pending => "pending",
            OrderStatus::Ready | OrderStatus::Processing | OrderStatus::Valid => "valid",
            OrderStatus::Invalid => "invalid",
        };
        let mut challenge = json!({ "type": "http-01", "url": format!("{}/challenge/{number}", self.origin),
                                    "token": format!("token-{number}"), "status": status });
        if order.status == OrderStatus::Invalid {
            challenge["error"] = json!({ "type": "urn:ietf:params:acme:error:unauthorized", "detail": "no answer" });
        }
        json!({ "identifier": { "type": "dns", "value": order.name }, "status": status, "challenges": [challenge] })
    }

    fn validate(&mut self, number: usize) {
        let answer = self.challenges.answer(&format!("/.well-known/acme-challenge/token-{number}"));
        if self.orders[number].status == OrderStatus::Pending {
            let is_right = answer.is_some_and(|text| text.starts_with(&format!("token-{number}.")));
            self.orders[number].status = if is_right { OrderStatus::Ready } else { OrderStatus::Invalid };
        }
    }

    fn finalize(&mut self, number: usize, payload: &Value) -> Response<String> {
        if self.orders[number].status != OrderStatus::Ready {
            return response(403, json!({ "type": "urn:ietf:params:acme:error:orderNotReady" }).to_string());
        }
        let request = payload["csr"].as_str().and_then(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok());
        let request = CertificateSigningRequestDer::from(request.unwrap_or_default());
        let mut request = CertificateSigningRequestParams::from_der(&request).expect("a request");
        let now = (self.now)();
        let serial = self.first_serial + self.counts.issued as u64;
        request.params.not_before = now.into();
        request.params.not_after = (now + self.lifetime).into();
        request.params.serial_number = Some(SerialNumber::from(serial));
        request.params.use_authority_key_identifier_extension = true;
        (self.orders[number].status, self.orders[number].certificate) = self.result(request);
        self.issued.insert(serial_text(serial), now);
        self.counts.issued += 1;
        response(200, self.order(number).to_string())
    }

    /// Returns the status of an order with this request, and its certificate.
    fn result(&self, mut request: CertificateSigningRequestParams) -> (OrderStatus, Option<String>) {
        let parameters = &mut request.params;
        match self.lie {
            Some(Lie::OtherName) => {
                parameters.subject_alt_names = vec![SanType::DnsName("other.example.com".try_into().expect("a name"))];
            }
            Some(Lie::Expired) => {
                parameters.not_before -= 2 * self.lifetime;
                parameters.not_after -= 2 * self.lifetime;
            }
            Some(Lie::NoCertificate) => return (OrderStatus::Valid, None),
            Some(Lie::NeverFinished) => return (OrderStatus::Processing, None),
            Some(Lie::Invalid) => return (OrderStatus::Invalid, None),
            Some(Lie::OtherText) => return (OrderStatus::Valid, Some("<html>Congratulations</html>".to_owned())),
            _ => {}
        }
        let certificate = match self.lie {
            Some(Lie::OtherKey) => {
                let key = KeyPair::generate().expect("a key");
                request.params.signed_by(&key, &self.issuer).expect("a certificate").pem()
            }
            Some(Lie::Damaged) => "-----BEGIN CERTIFICATE-----\nMIIBAAAA\n-----END CERTIFICATE-----\n".to_owned(),
            _ => request.signed_by(&self.issuer).expect("a certificate").pem(),
        };
        (OrderStatus::Valid, Some(format!("{certificate}{}", self.issuer_pem)))
    }

    fn window(&mut self, identifier: &str) -> Response<String> {
        let Some(issued) = self.issued.get(serial_of(identifier)) else {
            self.counts.strays += 1;
            return response(404, json!({ "type": "urn:ietf:params:acme:error:malformed" }).to_string());
        };
        let (start, end) = (self.suggestion)(*issued, self.lifetime);
        let text = json!({ "suggestedWindow": { "start": rfc3339(start), "end": rfc3339(end) } });
        let mut answer = response(200, text.to_string());
        answer.headers_mut().insert("retry-after", http::HeaderValue::from_static("21600"));
        answer
    }

    fn located(&self, status: u16, path: &str, text: String) -> Response<String> {
        let mut response = response(status, text);
        let location = format!("{}/{path}", self.origin).parse().expect("a field");
        response.headers_mut().insert("location", location);
        response
    }

    /// A number below another one.
    fn number(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }
}

impl OrderStatus {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Processing => "processing",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }
}

fn payload(body: &[u8]) -> Value {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let payload = message["payload"].as_str().and_then(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok());
    serde_json::from_slice(&payload.unwrap_or_default()).unwrap_or_default()
}

fn response(status: u16, text: String) -> Response<String> {
    let status = StatusCode::from_u16(status).expect("a status");
    Response::builder().status(status).header("replay-nonce", "bm9uY2U").body(text).expect("a response")
}

/// The serial number of an identifier of RFC 9773 §4.1.
fn serial_of(identifier: &str) -> &str {
    identifier.rsplit('.').next().unwrap_or_default()
}

/// A serial number as ARI writes it (RFC 9773 §4.1): its DER bytes.
fn serial_text(serial: u64) -> String {
    let bytes = serial.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(7);
    let bytes = &bytes[first..];
    let bytes = if bytes[0] > 127 { [&[0], bytes].concat() } else { bytes.to_vec() };
    BASE64URL_NOPAD.encode(&bytes)
}

fn rfc3339(time: SystemTime) -> String {
    let date = x509_cert::der::DateTime::from_system_time(time).expect("a date");
    date.to_string()
}
