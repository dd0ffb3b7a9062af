//! A validator for the part of JSON Schema 2020-12 that `docs/schema` uses. A keyword it does not know is an error, so
//! nothing in a schema goes unchecked.
use serde_json::Value;

/// Schemas by `$id`.
pub(crate) struct Schemas(Vec<(String, Value)>);

impl Schemas {
    /// Every schema under `docs/schema`.
    pub(crate) fn load() -> Schemas {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
        let mut all = Vec::new();
        for entry in std::fs::read_dir(dir).expect("docs/schema exists") {
            let path = entry.expect("a directory entry").path();
            let text = std::fs::read_to_string(&path).expect("a readable schema");
            let schema: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            all.push((schema["$id"].as_str().expect("an $id").to_owned(), schema));
        }
        Schemas(all)
    }

    /// Problems of `document` against the schema that it names itself.
    pub(crate) fn check(&self, document: &Value) -> Vec<String> {
        let Some(id) = document["schema"].as_str() else { return vec!["no schema field".to_owned()] };
        let mut problems = Vec::new();
        self.validate(id, self.root(id), document, "$", &mut problems);
        problems
    }

    fn root(&self, id: &str) -> &Value {
        &self.0.iter().find(|(known, _)| known == id).unwrap_or_else(|| panic!("no schema {id} in docs/schema")).1
    }

    fn validate(&self, id: &str, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().expect("a schema object") {
            let ok = match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "$defs" | "required" => true,
                "$ref" => {
                    let (target, schema) = self.resolve(id, rule.as_str().expect("a reference"));
                    self.validate(&target, schema, value, at, out);
                    true
                }
                "type" => has_type(rule, value),
                "const" => rule == value,
                "enum" => rule.as_array().expect("choices").contains(value),
                "minimum" => !value.is_number() || value.as_f64() >= rule.as_f64(),
                "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().expect("a count")),
                "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().expect("a count")),
                "pattern" => matches_digits(rule, value),
                "anyOf" => self.any_of(id, rule, value, at),
                "items" => {
                    let items = value.as_array().map_or(&[][..], Vec::as_slice);
                    items.iter().enumerate().for_each(|(i, v)| self.validate(id, rule, v, &format!("{at}[{i}]"), out));
                    true
                }
                "properties" | "additionalProperties" => true,
                other => panic!("{id}: keyword {other} is not checked"),
            };
            if !ok {
                out.push(format!("{at}: {keyword} {rule} does not hold for {value}"));
            }
        }
        self.members(id, schema, value, at, out);
    }

    fn members(&self, id: &str, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
        let Some(object) = value.as_object() else { return };
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required: Vec<&str> = schema["required"]
            .as_array()
            .expect("required beside properties")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(schema["additionalProperties"], false, "{id} {at}: objects are closed");
        assert_eq!(required.len(), properties.len(), "{id} {at}: every property is always written");
        for name in &required {
            if !object.contains_key(*name) {
                out.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, member) in object {
            match properties.get(name) {
                Some(schema) => self.validate(id, schema, member, &format!("{at}.{name}"), out),
                None => out.push(format!("{at}: {name} is not in the schema")),
            }
        }
    }

    fn any_of(&self, id: &str, rule: &Value, value: &Value, at: &str) -> bool {
        rule.as_array().expect("alternatives").iter().any(|schema| {
            let mut problems = Vec::new();
            self.validate(id, schema, value, at, &mut problems);
            problems.is_empty()
        })
    }

    /// `#/$defs/x` in the same file, `report-1#/$defs/x` in a sibling.
    fn resolve(&self, id: &str, reference: &str) -> (String, &Value) {
        let (file, pointer) = reference.split_once('#').expect("a fragment");
        let base = &id[..=id.rfind('/').expect("a path in the $id")];
        let target = if file.is_empty() { id.to_owned() } else { format!("{base}{file}") };
        let found = self.root(&target).pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
        (target, found)
    }
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("type {other} does not exist"),
    };
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        name => is(name.as_str().expect("a type name")),
    }
}

fn matches_digits(rule: &Value, value: &Value) -> bool {
    let infinite = rule == "^(-?[0-9]+|infinite)$";
    assert!(infinite || rule == "^-?[0-9]+$", "no other pattern is in use: {rule}");
    value.as_str().is_none_or(|s| {
        if s == "infinite" {
            return infinite;
        }
        let digits = s.strip_prefix('-').unwrap_or(s);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    })
}
