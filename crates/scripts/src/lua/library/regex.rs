//! `serow.regex`: regular expressions that take time in proportion to the text.

use mlua::{Lua, LuaString, Table, UserData, UserDataMethods, Value};
use regex::bytes::{Regex, RegexBuilder};

/// A regular expression, compiled.
struct RegexValue(Regex);

/// Provides it: `serow.regex(pattern)`, to be called while the script is loaded.
pub(super) fn provide(lua: &Lua, serow: &Table) -> mlua::Result<()> {
    let compile = lua.create_function(|lua, pattern: LuaString| {
        let pattern = pattern.to_string_lossy().to_string();
        // As `path-regex` has it: texts are bytes, and \w, \d and (?i) are those of ASCII.
        let mut builder = RegexBuilder::new(&pattern);
        let compiled = builder.unicode(false).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
        let compiled = compiled.map_err(|error| {
            let lines: Vec<_> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
            mlua::Error::runtime(format_args!("serow.regex {pattern:?}: {}", lines.join(" ")))
        })?;
        lua.create_userdata(RegexValue(compiled))
    })?;
    serow.raw_set("regex", compile)
}

impl UserData for RegexValue {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("test", |_, this, text: LuaString| Ok(this.0.is_match(&text.as_bytes())));
        // The whole match, and its groups by number and name; nil without one.
        methods.add_method("match", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            let Some(captures) = this.0.captures(&text) else { return Ok(Value::Nil) };
            let found = lua.create_table()?;
            for (number, group) in captures.iter().enumerate() {
                if let Some(group) = group {
                    found.raw_set(number, lua.create_string(group.as_bytes())?)?;
                }
            }
            for name in this.0.capture_names().flatten() {
                if let Some(group) = captures.name(name) {
                    found.raw_set(name, lua.create_string(group.as_bytes())?)?;
                }
            }
            Ok(Value::Table(found))
        });
        // $1 and ${name} stand for groups.
        methods.add_method("replace", |lua, this, (text, by): (LuaString, LuaString)| {
            let (text, by) = (text.as_bytes(), by.as_bytes());
            lua.create_string(this.0.replace_all(&text, &by[..]))
        });
    }
}

/// Bytes of a compiled expression: it lies outside of the memory of the state.
const MAX_SIZE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Built alone, the crate regex has no tables of Unicode here: `cargo test -p serow-scripts --features lua`.
    #[test]
    fn classes_and_case_are_those_of_ascii() {
        let lua = Lua::new();
        let serow = lua.create_table().unwrap();
        provide(&lua, &serow).unwrap();
        let regex: mlua::Function = serow.raw_get("regex").unwrap();
        for (pattern, text, expected) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "12a", false),
            (r"^\w+$", "a_1", true),
            (r"^\w+$", "\u{e4}", false),
            (r"a\sb", "a\tb", true),
            (r"\bcat\b", "a cat.", true),
            (r"\bcat\b", "concat", false),
            (r"(?i)(semrush)", "SemrushBot", true),
            (r"^\D\W\S$", "a-b", true),
            ("\u{e4}+", "\u{e4}", true),
        ] {
            let compiled: mlua::AnyUserData = regex.call(pattern).unwrap();
            let found: bool = mlua::ObjectLike::call_method(&compiled, "test", text).unwrap();
            assert_eq!(found, expected, "{pattern} on {text}");
        }
    }
}
