//! The keys of a table as a JSON schema, with what can be written for each.

use clap::{Args, Command};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The keys of a table.
#[derive(Default)]
pub struct Shape {
    /// The schema of each key, by its name.
    pub properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Shape {
    /// The keys of a type.
    pub fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = T::json_schema(&mut SchemaGenerator::new(settings)).to_value();
        let mut part = |name| schema.get_mut(name).map(Value::take);
        let mut properties = Map::new();
        if let Some(Value::Object(written)) = part("properties") {
            properties.extend(written.into_iter().map(|(key, schema)| (key, as_written(schema))));
        }
        let required = match part("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        Self { properties, required }
    }

    /// The keys that are options too, and what stands above them in the help.
    pub fn of_options<T: JsonSchema + Args>() -> (String, Self) {
        let command = T::augment_args(Command::new(""));
        let heading = command.get_arguments().find_map(|argument| argument.get_help_heading()).unwrap_or_default();
        (heading.to_owned(), Self::of::<T>())
    }

    /// These keys and others.
    pub fn and(mut self, mut others: Self) -> Self {
        self.properties.append(&mut others.properties);
        self.required.append(&mut others.required);
        self
    }

    /// All keys of groups that have headings.
    pub fn together(groups: Vec<(String, Self)>) -> Self {
        groups.into_iter().fold(Self::default(), |all, (_, shape)| all.and(shape))
    }

    /// A key with what is there.
    pub fn with(mut self, key: &str, description: &str, mut schema: Value) -> Self {
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".to_owned(), json!(description));
        }
        self.properties.insert(key.to_owned(), schema);
        self
    }

    /// This key has to be there.
    pub fn required(mut self, key: &str) -> Self {
        self.required.push(json!(key));
        self
    }

    /// None of the keys has to be there.
    pub fn optional(self) -> Self {
        Self { required: Vec::new(), ..self }
    }

    /// The table as a schema.
    pub fn schema(self) -> Value {
        let Self { properties, required } = self;
        let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if let (false, Value::Object(schema)) = (required.is_empty(), &mut schema) {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        schema
    }
}

/// An array of such tables.
pub fn list_of(table: Value) -> Value {
    json!({ "type": "array", "items": table })
}

/// A table that has exactly one of some keys.
pub fn one_of(mut table: Value, keys: &[&str]) -> Value {
    if let Value::Object(table) = &mut table {
        let choices: Vec<_> = keys.iter().map(|key| json!({ "required": [key] })).collect();
        table.insert("oneOf".to_owned(), Value::Array(choices));
    }
    table
}

/// A table that has at most one of two keys.
pub fn not_both(mut table: Value, keys: &[&str; 2]) -> Value {
    if let Value::Object(table) = &mut table {
        table.insert("not".to_owned(), json!({ "required": keys }));
    }
    table
}

/// The schema of a value as it can be written: TOML has no null, and one value stands for an array of it.
fn as_written(schema: Value) -> Value {
    let Value::Object(mut schema) = without_null(schema) else { return Value::Bool(true) };
    if let Some(Value::Object(below)) = schema.get_mut("properties") {
        below.values_mut().for_each(|below| *below = as_written(below.take()));
    }
    if let Some(Value::Array(below)) = schema.get_mut("anyOf") {
        below.iter_mut().for_each(|below| *below = as_written(below.take()));
    }
    if schema.get("type").is_some_and(|name| name == "array") {
        let items = schema.remove("items").map(as_written).unwrap_or(Value::Bool(true));
        schema.remove("type");
        schema.insert("anyOf".to_owned(), json!([items, { "type": "array", "items": items }]));
    }
    Value::Object(schema)
}

/// An optional value as one that is there or is not.
fn without_null(mut schema: Value) -> Value {
    let Value::Object(keys) = &mut schema else { return schema };
    // The description explains the meaning of a missing value.
    let is_none = |value: &Value| match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(keys) => keys.is_empty(),
        _ => false,
    };
    if keys.get("default").is_some_and(is_none) {
        keys.remove("default");
    }
    if let Some(Value::Array(types)) = keys.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            keys.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(mut choices)) = keys.remove("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        match (choices.len(), choices.pop()) {
            (1, Some(Value::Object(only))) => keys.extend(only),
            (_, last) => drop(keys.insert("anyOf".to_owned(), choices.into_iter().chain(last).collect())),
        }
    }
    schema
}
