//! Functions of Lua's library `string` in place of those that no limit ends: `find`, `match`, `gmatch` and `gsub`.

use std::{cell::Cell, rc::Rc};

use memchr::memmem;
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value, Variadic};

use crate::lua::{
    budget::Budget,
    pattern::{Capture, Match, Matcher},
    value_kind::kind,
};

/// Replaces these functions.
pub(crate) fn replace(lua: &Lua, budget: &Rc<Budget>) -> mlua::Result<()> {
    let string: Table = lua.globals().get("string")?;
    let look = Rc::clone(budget);
    let find = lua.create_function(
        move |lua, (text, pattern, init, plain): (LuaString, LuaString, Option<f64>, Option<Value>)| {
            let is_plain = plain.is_some_and(|plain| !matches!(plain, Value::Nil | Value::Boolean(false)));
            let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
            let from = start(init, text.len());
            if is_plain || !pattern.iter().any(|byte| SPECIAL.contains(byte)) {
                return match memmem::find(&text[from..], &pattern) {
                    Some(found) => places(from + found, from + found + pattern.len(), Vec::new()),
                    None => nothing(),
                };
            }
            match first(&look, &text, &pattern, from)? {
                Some(found) => places(found.start, found.end, captured(lua, &text, &found, false)?),
                None => nothing(),
            }
        },
    )?;
    string.raw_set("find", find)?;
    let look = Rc::clone(budget);
    let matching = lua.create_function(move |lua, (text, pattern, init): (LuaString, LuaString, Option<f64>)| {
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        let from = start(init, text.len());
        match first(&look, &text, &pattern, from)? {
            Some(found) => Ok(captured(lua, &text, &found, true)?.into_iter().collect()),
            None => nothing(),
        }
    })?;
    string.raw_set("match", matching)?;
    let look = Rc::clone(budget);
    let gmatch = lua.create_function(move |lua, (text, pattern): (LuaString, LuaString)| {
        let (look, place) = (Rc::clone(&look), Cell::new(0));
        lua.create_function(move |lua, _: Variadic<Value>| {
            let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
            // Here, ^ is no anchor.
            let is_over = || look.look();
            let mut matcher = Matcher::new(&text, &pattern, &is_over);
            for from in place.get()..=text.len() {
                if let Some(found) = matcher.match_at(from, 0).map_err(mlua::Error::runtime)? {
                    place.set(found.end.max(from + usize::from(found.end == from)));
                    return Ok(captured(lua, &text, &found, true)?.into_iter().collect());
                }
            }
            place.set(text.len() + 1);
            nothing()
        })
    })?;
    string.raw_set("gmatch", &gmatch)?;
    string.raw_set("gfind", Value::Nil)?;
    let look = Rc::clone(budget);
    let gsub =
        lua.create_function(move |lua, (text, pattern, by, most): (LuaString, LuaString, Value, Option<f64>)| {
            let by = Replacement::new(by)?;
            let most = most.map_or(usize::MAX, |most| most.max(0.0) as usize);
            let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
            replaced(lua, &look, &text, &pattern, &by, most)
        })?;
    string.raw_set("gsub", gsub)
}

/// The replacement of a match.
enum Replacement {
    Text(LuaString),
    Table(Table),
    Function(Function),
}

impl Replacement {
    fn new(value: Value) -> mlua::Result<Self> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Table(table) => Ok(Self::Table(table)),
            Value::Function(function) => Ok(Self::Function(function)),
            other => Err(mlua::Error::runtime(format_args!(
                "string.gsub: the replacement is text, a table or a function, not {}",
                kind(&other)
            ))),
        }
    }

    /// Appends what takes the place of this match.
    fn append(&self, lua: &Lua, text: &[u8], found: &Match, output: &mut Vec<u8>) -> mlua::Result<()> {
        let value = match self {
            Self::Text(by) => return append_text(text, found, &by.as_bytes(), output),
            Self::Table(table) => table.get(capture(lua, text, found, 0)?)?,
            Self::Function(function) => function.call(MultiValue::from_iter(captured(lua, text, found, true)?))?,
        };
        match value {
            Value::Nil | Value::Boolean(false) => output.extend_from_slice(&text[found.start..found.end]),
            Value::String(by) => output.extend_from_slice(&by.as_bytes()),
            Value::Integer(_) | Value::Number(_) => output.extend_from_slice(value.to_string()?.as_bytes()),
            other => {
                return Err(mlua::Error::runtime(format_args!(
                    "string.gsub: a replacement is text, not {}",
                    kind(&other)
                )));
            }
        }
        Ok(())
    }
}

fn replaced(
    lua: &Lua,
    budget: &Budget,
    text: &[u8],
    pattern: &[u8],
    by: &Replacement,
    most: usize,
) -> mlua::Result<(LuaString, usize)> {
    let is_anchored = pattern.first() == Some(&b'^');
    let is_over = || budget.look();
    let mut matcher = Matcher::new(text, pattern, &is_over);
    let (mut output, mut place, mut count) = (Vec::new(), 0, 0);
    while count < most {
        let found = matcher.match_at(place, usize::from(is_anchored)).map_err(mlua::Error::runtime)?;
        if let Some(found) = &found {
            count += 1;
            by.append(lua, text, found, &mut output)?;
        }
        // The memory of Lua has a limit; this buffer, which is outside of it, needs one as well.
        if output.len() > MAX_OUTPUT {
            return Err(mlua::Error::runtime("string.gsub: the result is too long"));
        }
        match found {
            Some(found) if found.end > place => place = found.end,
            _ if place < text.len() => {
                output.push(text[place]);
                place += 1;
            }
            _ => {
                place = text.len();
                break;
            }
        }
        if is_anchored {
            break;
        }
    }
    output.extend_from_slice(&text[place.min(text.len())..]);
    Ok((lua.create_string(output)?, count))
}

/// A replacement in which `%1` is the first capture, and `%0` the match.
fn append_text(text: &[u8], found: &Match, by: &[u8], output: &mut Vec<u8>) -> mlua::Result<()> {
    let mut bytes = by.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, byte == b'%') {
            (_, false) => output.push(byte),
            (_, true) => match bytes.next() {
                Some(b'0') => output.extend_from_slice(&text[found.start..found.end]),
                Some(digit @ b'1'..=b'9') => match place_of(found, usize::from(digit - b'1'))? {
                    Capture::Text(start, end) => output.extend_from_slice(&text[start..end]),
                    Capture::Place(place) => output.extend_from_slice((place + 1).to_string().as_bytes()),
                    Capture::Unfinished => {}
                },
                Some(&other) => output.push(other),
                None => return Err(mlua::Error::runtime("string.gsub: the replacement ends with %")),
            },
        }
    }
    Ok(())
}

fn first(budget: &Budget, text: &[u8], pattern: &[u8], from: usize) -> mlua::Result<Option<Match>> {
    let is_over = || budget.look();
    Matcher::new(text, pattern, &is_over).find(from).map_err(mlua::Error::runtime)
}

/// The captures as values; without any, the whole match if that is wanted.
fn captured(lua: &Lua, text: &[u8], found: &Match, or_whole: bool) -> mlua::Result<Vec<Value>> {
    let count = if or_whole { found.captures.len().max(1) } else { found.captures.len() };
    (0..count).map(|number| capture(lua, text, found, number)).collect()
}

fn capture(lua: &Lua, text: &[u8], found: &Match, number: usize) -> mlua::Result<Value> {
    match place_of(found, number)? {
        Capture::Text(start, end) => lua.create_string(&text[start..end]).map(Value::String),
        Capture::Place(place) => Ok(Value::Number((place + 1) as f64)),
        Capture::Unfinished => Ok(Value::Nil),
    }
}

/// A capture; the first of a pattern without any is the whole match.
fn place_of(found: &Match, number: usize) -> mlua::Result<Capture> {
    match found.captures.get(number) {
        Some(Capture::Unfinished) => Err(mlua::Error::runtime("unfinished capture")),
        Some(capture) => Ok(*capture),
        None if number == 0 => Ok(Capture::Text(found.start, found.end)),
        None => Err(mlua::Error::runtime("invalid capture index")),
    }
}

/// Where a search begins.
fn start(init: Option<f64>, length: usize) -> usize {
    let init = init.unwrap_or(1.0).trunc();
    let start = if init < 0.0 { length as f64 + init } else { init - 1.0 };
    // A number below 0 becomes 0.
    (start as usize).min(length)
}

fn places(start: usize, end: usize, captures: Vec<Value>) -> mlua::Result<MultiValue> {
    let places = [Value::Number((start + 1) as f64), Value::Number(end as f64)];
    Ok(places.into_iter().chain(captures).collect())
}

fn nothing() -> mlua::Result<MultiValue> {
    Ok(MultiValue::from_iter([Value::Nil]))
}

/// Characters without which a pattern is a text.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Bytes of a result: more than any state has.
const MAX_OUTPUT: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern in them, always the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    const PIECES: [&str; 36] = [
        "a", "b", ".", "%a", "%A", "%d", "%s", "%w", "%p", "[ab]", "[^a]", "[a-c]", "[%d_]", "[]a]", "[^]]", "*", "+",
        "-", "?", "(", ")", "()", "%1", "%2", "%b()", "%bab", "%f[a]", "%f[%d]", "^", "$", "%%", "%", "[", "1", " ",
        "(a)",
    ];
    const TEXT: &[u8] = b"aabbc(1) %_]-^$";

    #[test]
    fn they_do_what_those_of_luajit_do() {
        let (ours, theirs) = (Lua::new(), Lua::new());
        replace(&ours, &Rc::new(Budget::new())).unwrap();
        let code = "local text, pattern, init, by = ...\n\
            local function all(...) local t = { n = select('#', ...), ... }\n\
              for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, '|') end\n\
            local function tried(f, ...) local t = { pcall(f, ...) } return t[1] and all(unpack(t)) or 'error' end\n\
            local function each() local t = {} for a, b in text:gmatch(pattern) do t[#t + 1] = all(a, b) end return table.concat(t, ';') end\n\
            return table.concat({ tried(string.find, text, pattern, init), tried(string.match, text, pattern, init),\n\
              tried(string.find, text, pattern, init, true), tried(string.gsub, text, pattern, by),\n\
              tried(string.gsub, text, pattern, function(a, b) return b end), tried(string.gsub, text, pattern, { a = 'x' }),\n\
              tried(string.gsub, text, pattern, by, 1), tried(each) }, '\\n')";
        let (ours, theirs) = (ours.load(code).into_function().unwrap(), theirs.load(code).into_function().unwrap());
        let mut random = Random(7);
        let mut matched = 0;
        for _ in 0..20_000 {
            let pattern: String = (0..1 + random.below(6)).map(|_| PIECES[random.below(PIECES.len())]).collect();
            let text: Vec<u8> = (0..random.below(10)).map(|_| TEXT[random.below(TEXT.len())]).collect();
            let text = String::from_utf8(text).unwrap();
            let init = random.below(14) as f64 - 4.0;
            let by = ["x", "%0", "<%1>", "%%", "%2"][random.below(5)];
            let arguments = (text.clone(), pattern.clone(), init, by);
            let (ours, theirs): (String, String) =
                (ours.call(arguments.clone()).unwrap(), theirs.call(arguments).unwrap());
            assert_eq!(ours, theirs, "{text:?} {pattern:?} {init} {by:?}");
            matched += usize::from(ours.starts_with("true|") && !ours.starts_with("true|nil"));
        }
        assert!(matched > 1_000, "{matched}");
    }
}
