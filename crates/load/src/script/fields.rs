//! The fields of responses as a table, which is made again only when they differ from the last ones.

use mlua::{Lua, Table};
use serow_message::Headers;

/// The fields of the last response. Most servers send the same again and again, but for the second of `Date`, and to
/// compare them takes a tenth of the time that it takes to make the strings and the table.
pub(super) struct Fields {
    /// Names and values, each with a line break behind it, which none of them contains.
    text: Vec<u8>,
    /// The same for scripts, which are given copies.
    table: Table,
}

impl Fields {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self { text: Vec::new(), table: lua.create_table()? })
    }

    /// The table of these fields; of several with the same name the last counts, as with wrk.
    pub(super) fn table(&mut self, lua: &Lua, headers: &Headers) -> mlua::Result<&Table> {
        if !self.holds(headers) {
            self.text.clear();
            self.table.clear()?;
            for (name, value) in headers {
                self.table.raw_set(lua.create_string(name)?, lua.create_string(value)?)?;
                for part in [name, b"\n", value, b"\n"] {
                    self.text.extend_from_slice(part);
                }
            }
        }
        Ok(&self.table)
    }

    fn holds(&self, headers: &Headers) -> bool {
        let parts = headers.iter().flat_map(|(name, value)| [name, b"\n", value, b"\n"]);
        let rest = parts.into_iter().try_fold(self.text.as_slice(), |rest, part| rest.strip_prefix(part));
        rest.is_some_and(<[u8]>::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_the_fields_of_this_response() {
        let lua = Lua::new();
        let mut fields = Fields::new(&lua).unwrap();
        let cases: [&[(&str, &str)]; 8] = [
            &[],
            &[("A", "1")],
            &[("A", "1"), ("B", "2")],
            &[("A", "1"), ("B", "2")],
            &[("A", "1")],
            &[("A", "")],
            &[("A", "1"), ("A", "2")],
            &[("A", "2"), ("A", "1")],
        ];
        for case in cases {
            let mut headers = Headers::new();
            for (name, value) in case {
                headers.append(*name, value).unwrap();
            }
            let table = fields.table(&lua, &headers).unwrap();
            for name in ["A", "B"] {
                let expected =
                    case.iter().rev().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
                assert_eq!(table.raw_get::<Option<String>>(name).unwrap(), expected, "{name} of {case:?}");
            }
        }
    }
}
