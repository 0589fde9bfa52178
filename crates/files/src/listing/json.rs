//! A listing as json: an array of objects with `name`, `type`, `size` and `modified`.

use super::{entries::Entry, time::Moment};

pub(super) fn begin(output: &mut Vec<u8>) {
    output.push(b'[');
}

pub(super) fn row(output: &mut Vec<u8>, entry: &Entry, is_first: bool) {
    output.extend_from_slice(if is_first { b"\n" } else { b",\n" });
    let kind = if entry.is_folder { "folder" } else { "file" };
    let modified = Moment::new(entry.modified).rfc_3339();
    output.extend_from_slice(b"{\"name\":");
    // json is Unicode; a name that is not shows a replacement character where it breaks.
    string(output, &String::from_utf8_lossy(&entry.name));
    let rest = format!(",\"type\":\"{kind}\",\"size\":{},\"modified\":\"{modified}\"}}", entry.size);
    output.extend_from_slice(rest.as_bytes());
}

pub(super) fn end(output: &mut Vec<u8>) {
    output.extend_from_slice(b"\n]\n");
}

/// RFC 8259 §7.
fn string(output: &mut Vec<u8>, text: &str) {
    output.push(b'"');
    for character in text.chars() {
        match character {
            '"' => output.extend_from_slice(b"\\\""),
            '\\' => output.extend_from_slice(b"\\\\"),
            '\0'..='\x1f' => output.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
            _ => output.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    output.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_objects() {
        let entry = |name: &[u8], is_folder, size| Entry { name: name.to_vec(), is_folder, size, modified: 0 };
        let mut output = Vec::new();
        begin(&mut output);
        row(&mut output, &entry(b"a\"b\\\n\xc3\xa4\xff", false, 7), true);
        row(&mut output, &entry(b"f", true, 0), false);
        end(&mut output);
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "[\n\
             {\"name\":\"a\\\"b\\\\\\u000a\u{e4}\u{fffd}\",\"type\":\"file\",\"size\":7,\"modified\":\"1970-01-01T00:00:00Z\"},\n\
             {\"name\":\"f\",\"type\":\"folder\",\"size\":0,\"modified\":\"1970-01-01T00:00:00Z\"}\n\
             ]\n"
        );
    }
}
