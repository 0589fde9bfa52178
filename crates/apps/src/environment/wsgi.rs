//! Requests for Python's WSGI: names and values as `marshal.loads` reads them.
//!
//! A tuple of two: the names of the header's variables, separated by commas, and a tuple of the values, first those of
//! every request. Requests with the same names get a copy of the same dict with new values; that takes two thirds of
//! the time for a dict of its own.

use serow_gateway::decoded_path;

use super::{Facts, marshal::Marshal, variable, write_text, write_values};

/// The fixed values have the order of FIXED in bridges/python/wsgi.py.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let fields = facts.fields_once();
    let mut text = Vec::with_capacity(512);
    let given = [
        ("SCRIPT_NAME", !facts.script_name.is_empty()),
        ("CONTENT_LENGTH", facts.content_length.is_some()),
        ("REMOTE_USER", facts.user.is_some()),
    ];
    let given = given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name));
    for name in given.clone() {
        separate(&mut text);
        text.extend_from_slice(name.as_bytes());
    }
    for (name, ..) in &fields {
        separate(&mut text);
        variable::write(name, &mut text);
    }
    let mut marshal = Marshal(packet);
    marshal.tuple(2);
    marshal.latin1(&text);
    marshal.tuple(FIXED + given.count() + fields.len());
    let texts =
        [facts.method, facts.query, facts.protocol, facts.server_name, facts.target, facts.scheme].map(str::as_bytes);
    texts.into_iter().for_each(|text| marshal.latin1(text));
    marshal.latin1(&decoded_path(facts.path));
    let mut add = |write: &dyn Fn(&mut Vec<u8>)| {
        text.clear();
        write(&mut text);
        marshal.latin1(&text);
    };
    add(&|text| facts.server_port.write(text));
    add(&|text| facts.client.address.iter().for_each(|address| write_text(address, text)));
    add(&|text| write_text(facts.client.port, text));
    if !facts.script_name.is_empty() {
        add(&|text| text.extend_from_slice(facts.script_name.as_bytes()));
    }
    facts.content_length.iter().for_each(|length| add(&|text| write_text(length, text)));
    facts.user.iter().for_each(|user| add(&|text| text.extend_from_slice(user.as_bytes())));
    for field in fields {
        add(&|text| write_values(facts, field, text));
    }
}

/// Names are separated by commas.
fn separate(names: &mut Vec<u8>) {
    if !names.is_empty() {
        names.push(b',');
    }
}

/// Values that each request has.
const FIXED: usize = 10;
