//! Fields and digits for the tests of HPACK and QPACK.

use proptest::prelude::*;

/// Names and values, of which some come again.
pub(crate) fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let names = prop_oneof![
        Just(b"content-type".to_vec()),
        Just(b"Date".to_vec()),
        Just(b"cookie".to_vec()),
        Just(b"etag".to_vec()),
        Just(b"Access-Control-Allow-Origin".to_vec()),
        Just(b":path".to_vec()),
        "[a-cA-C-]{1,3}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..100),
    ];
    let values = prop_oneof![
        4 => "[a-c]{0,2}".prop_map(String::into_bytes),
        1 => "[a-b]{20}".prop_map(String::into_bytes),
        1 => "[ -~]{0,200}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..1000),
    ];
    (names, values)
}

/// The bytes of hexadecimal text, which may have spaces; `-` is nothing.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b' ' | b'-')).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
