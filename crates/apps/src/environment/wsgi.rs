//! Requests for Python's WSGI: the environment as a dict that `marshal.loads` reads. What is the same for all requests is added by
//! the bridge.

use super::{Facts, decoded, marshal::Marshal, write_text, write_values, write_variable};

pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let mut marshal = Marshal(packet);
    marshal.dict();
    let texts = [
        ("REQUEST_METHOD", facts.method),
        ("QUERY_STRING", facts.query),
        ("SERVER_PROTOCOL", facts.protocol),
        ("SERVER_NAME", facts.server_name),
        ("REQUEST_URI", facts.target),
        ("wsgi.url_scheme", facts.scheme),
    ];
    for (name, value) in texts {
        marshal.name(name.as_bytes());
        marshal.latin1(value.as_bytes());
    }
    marshal.name(b"PATH_INFO");
    marshal.latin1(&decoded(facts.path));
    let mut text = Vec::with_capacity(64);
    let mut add = |name: &str, write: &dyn Fn(&mut Vec<u8>)| {
        text.clear();
        write(&mut text);
        marshal.name(name.as_bytes());
        marshal.latin1(&text);
    };
    add("SERVER_PORT", &|text| facts.server_port.write(text));
    add("REMOTE_ADDR", &|text| facts.remote_address.iter().for_each(|address| write_text(address, text)));
    add("REMOTE_PORT", &|text| write_text(facts.remote_port, text));
    if let Some(length) = facts.content_length {
        add("CONTENT_LENGTH", &|text| write_text(length, text));
    }
    write_fields(facts, &mut marshal);
    marshal.end_dict();
}

fn write_fields(facts: &Facts<'_>, marshal: &mut Marshal<'_>) {
    let mut variable = Vec::with_capacity(64);
    let mut values = Vec::new();
    let mut seen: Vec<&[u8]> = Vec::new();
    for (name, known, value) in facts.fields() {
        variable.clear();
        write_variable(name, known, &mut variable);
        if facts.has_repeated && seen.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            continue;
        }
        match known {
            Some(_) => marshal.name(&variable),
            None => marshal.latin1(&variable),
        }
        if facts.has_repeated {
            seen.push(name);
            values.clear();
            write_values(facts.headers, name, known, &mut values);
            marshal.latin1(&values);
        } else {
            marshal.latin1(value);
        }
    }
}
