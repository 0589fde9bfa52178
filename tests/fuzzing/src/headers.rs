//! A header list does what a plain list of names and values does.

use arbitrary::Arbitrary;
use serow_message::{Headers, KnownHeader};

use crate::with_value;

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    Append(Name<'a>, &'a [u8]),
    Insert(Name<'a>, &'a [u8]),
    Remove(Name<'a>),
    /// Keeps fields whose value has a length that this number divides.
    Retain(u8),
    Clone,
    Write(Vec<u8>),
    Look(Name<'a>),
}

#[derive(Arbitrary, Debug)]
enum Name<'a> {
    Common(u8),
    Other(&'a str),
}

const NAMES: [&str; 10] =
    ["Host", "host", "HOST", "Content-Length", "te", "X-One", "x-one", "Set-Cookie", "set-cookie", "a"];
const KNOWN: [KnownHeader; 4] =
    [KnownHeader::Host, KnownHeader::ContentLength, KnownHeader::Te, KnownHeader::SetCookie];

impl<'a> Name<'a> {
    fn text(&self) -> &'a str {
        match self {
            Self::Common(number) => NAMES[usize::from(*number) % NAMES.len()],
            Self::Other(text) => text,
        }
    }
}

type Model = Vec<(String, Vec<u8>)>;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(operations: Vec<Operation<'_>>) {
    let (mut headers, mut model) = (Headers::new(), Model::new());
    for operation in operations {
        apply(operation, &mut headers, &mut model);
        let fields = model.iter().map(|(name, value)| (name.as_bytes(), &value[..]));
        assert!(headers.iter().eq(fields), "{headers:?} is not {model:?}");
        assert_eq!((headers.len(), headers.is_empty()), (model.len(), model.is_empty()));
        for known in KNOWN {
            look(known.as_str(), &headers, &model);
            assert_eq!(headers.contains(known), headers.contains(known.as_str()));
            assert_eq!(
                headers.contains_any(&[known, KnownHeader::Via]),
                headers.contains(known) || headers.contains("via")
            );
            assert!(headers.get_all(known).eq(headers.get_all(known.as_str())));
        }
    }
}

fn apply(operation: Operation<'_>, headers: &mut Headers, model: &mut Model) {
    match operation {
        Operation::Append(name, value) => {
            let valid = is_valid(name.text(), value);
            assert_eq!(headers.append(name.text(), value).is_ok(), valid);
            if valid {
                model.push((name.text().into(), value.into()));
            }
        }
        Operation::Insert(name, value) => {
            let valid = is_valid(name.text(), value);
            assert_eq!(headers.insert(name.text(), value).is_ok(), valid);
            model.retain(|field| !field.0.eq_ignore_ascii_case(name.text()));
            if valid {
                model.push((name.text().into(), value.into()));
            }
        }
        Operation::Remove(name) => {
            let before = model.len();
            model.retain(|field| !field.0.eq_ignore_ascii_case(name.text()));
            assert_eq!(headers.remove(name.text()), model.len() != before);
        }
        Operation::Retain(divisor) => {
            let keeps = |value: &[u8]| value.len().is_multiple_of(usize::from(divisor) + 1);
            headers.retain(|_, value| keeps(value));
            model.retain(|(_, value)| keeps(value));
        }
        Operation::Clone => *headers = headers.clone(),
        Operation::Write(except) => {
            let except: Vec<KnownHeader> =
                except.iter().map(|&number| KNOWN[usize::from(number) % KNOWN.len()]).collect();
            write(headers, model, &except);
        }
        Operation::Look(name) => look(name.text(), headers, model),
    }
}

fn is_valid(name: &str, value: &[u8]) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_text = |&byte: &u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
    !name.is_empty() && name.bytes().all(is_token) && value.iter().all(is_text) && name.len() <= usize::from(u16::MAX)
}

fn look(name: &str, headers: &Headers, model: &Model) {
    let values: Vec<&[u8]> =
        model.iter().filter(|field| field.0.eq_ignore_ascii_case(name)).map(|field| &field.1[..]).collect();
    assert!(headers.get_all(name).eq(values.iter().copied()));
    assert_eq!(headers.get(name), values.first().copied());
    assert_eq!(headers.contains(name), !values.is_empty());
    let members = values.iter().flat_map(|value| value.split(|&byte| byte == b','));
    let members = members.map(<[u8]>::trim_ascii).filter(|member| !member.is_empty());
    assert!(headers.list(name).eq(members));
}

fn write(headers: &Headers, model: &Model, except: &[KnownHeader]) {
    let (mut output, mut expected) = (Vec::new(), Vec::new());
    headers.write_lines(&mut output, except);
    for (name, value) in model {
        if !except.iter().any(|known| known.as_str().eq_ignore_ascii_case(name)) {
            expected.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    assert_eq!(output, expected, "{} is not {}", output.escape_ascii(), expected.escape_ascii());
}
