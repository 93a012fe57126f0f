//! Changes of the compiled program.

use serde_json::{Value, json};

/// A change of the compiled program: the constant that a field is compared with.
pub struct Mutant {
    pub left: &'static str,
    pub op: &'static str,
    pub value: &'static str,
    pub instead: &'static str,
}

impl Mutant {
    pub fn apply(&self, value: &mut Value) -> usize {
        let mut found = 0;
        if value["op"] == self.op
            && value["left"]["type"] == "field"
            && value["left"]["value"][1] == self.left
            && value["right"]["value"] == self.value
        {
            value["right"]["value"] = self.instead.into();
            found += 1;
        }
        match value {
            Value::Object(fields) => {
                found += fields.values_mut().map(|field| self.apply(field)).sum::<usize>();
            }
            Value::Array(items) => found += items.iter_mut().map(|item| self.apply(item)).sum::<usize>(),
            _ => {}
        }
        found
    }
}

/// The program never asks for multicast; a switch's other program might. Here `forward` does, for ports from 256.
pub fn with_multicast(json: &mut Value) {
    let group = json!({ "type": "expression", "value": { "type": "expression", "value": {
        "op": ">>", "left": { "type": "runtime_data", "value": 0 }, "right": { "type": "hexstr", "value": "0x08" },
    } } });
    let assign = json!({
        "op": "assign",
        "parameters": [{ "type": "field", "value": ["standard_metadata", "mcast_grp"] }, group],
    });
    for action in json["actions"].as_array_mut().unwrap() {
        if action["name"] == "forward" {
            action["primitives"].as_array_mut().unwrap().push(assign.clone());
        }
    }
}
