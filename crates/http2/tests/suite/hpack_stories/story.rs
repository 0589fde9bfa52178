//! A story of hpack-test-case: field blocks of one connection.

use serde_json::Value;

use crate::machine::compression::unhex;

/// A field block and what it stands for.
pub(crate) struct Case {
    /// Announced and acknowledged just before.
    pub(crate) capacity: Option<usize>,
    /// Not there where the story is to be encoded.
    pub(crate) wire: Option<Vec<u8>>,
    pub(crate) fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The cases of a story.
pub(crate) fn parse(text: &[u8]) -> Vec<Case> {
    let story: Value = serde_json::from_slice(text).expect("a story is JSON");
    let cases = story["cases"].as_array().expect("a story has cases");
    cases.iter().map(parse_case).collect()
}

fn parse_case(case: &Value) -> Case {
    let fields = case["headers"].as_array().expect("a case has headers");
    Case {
        capacity: case["header_table_size"].as_u64().and_then(|size| size.try_into().ok()),
        wire: case["wire"].as_str().map(unhex),
        fields: fields.iter().flat_map(|field| field.as_object().expect("a field")).map(field).collect(),
    }
}

fn field((name, value): (&String, &Value)) -> (Vec<u8>, Vec<u8>) {
    (name.clone().into_bytes(), value.as_str().expect("a value is text").as_bytes().into())
}
