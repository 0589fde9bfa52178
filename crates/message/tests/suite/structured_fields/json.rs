//! The suite's JSON as the types of `sfv`.

use serde_json::Value;
use sfv::{BareItem, Date, Decimal, Dictionary, InnerList, Integer, Item, Key, List, ListEntry, Parameters, Token};

/// `None` where it is nothing that a structured field can say.
pub(crate) fn item(value: &Value) -> Option<Item> {
    Some(Item::with_params(bare_item(&value[0])?, parameters(&value[1])?))
}

pub(crate) fn list(value: &Value) -> Option<List> {
    value.as_array()?.iter().map(member).collect()
}

pub(crate) fn dictionary(value: &Value) -> Option<Dictionary> {
    value.as_array()?.iter().map(|entry| Some((key(&entry[0])?, member(&entry[1])?))).collect()
}

fn member(value: &Value) -> Option<ListEntry> {
    if !value[0].is_array() {
        return item(value).map(ListEntry::Item);
    }
    let items = value[0].as_array()?.iter().map(item).collect::<Option<_>>()?;
    Some(ListEntry::InnerList(InnerList::with_params(items, parameters(&value[1])?)))
}

fn parameters(value: &Value) -> Option<Parameters> {
    value.as_array()?.iter().map(|entry| Some((key(&entry[0])?, bare_item(&entry[1])?))).collect()
}

fn key(value: &Value) -> Option<Key> {
    Key::from_string(value.as_str()?.to_owned()).ok()
}

fn bare_item(value: &Value) -> Option<BareItem> {
    Some(match value {
        Value::Bool(boolean) => BareItem::Boolean(*boolean),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => BareItem::Integer(Integer::try_from(integer).ok()?),
            None => BareItem::Decimal(Decimal::try_from(number.as_f64()?).ok()?),
        },
        Value::String(text) => BareItem::String(sfv::String::from_string(text.clone()).ok()?),
        Value::Object(typed) => {
            let value = &typed["value"];
            match typed["__type"].as_str()? {
                "token" => BareItem::Token(Token::from_string(value.as_str()?.to_owned()).ok()?),
                "binary" => BareItem::ByteSequence(base32(value.as_str()?)),
                "date" => BareItem::Date(Date::from_unix_seconds(Integer::try_from(value.as_i64()?).ok()?)),
                "displaystring" => BareItem::DisplayString(value.as_str()?.to_owned()),
                other => panic!("a type {other}"),
            }
        }
        _ => return None,
    })
}

/// RFC 4648 §6.
fn base32(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'2'..=b'7' => letter - b'2' + 26,
            _ => panic!("no base32: {text}"),
        };
        (bits, count) = (bits << 5 | u32::from(value), count + 5);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
