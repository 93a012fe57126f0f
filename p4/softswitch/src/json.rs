//! The JSON as p4c writes it, before anything in it is understood: names and shapes only.
#![expect(clippy::struct_field_names, reason = "the JSON's own names")]

use serde::Deserialize;
use serde_json::Value as Json;

/// The whole document. Parts that BMv2 reads and v1model programs never fill are kept, so that they can be refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Root {
    #[serde(rename = "__meta__")]
    pub meta: Option<Meta>,
    pub header_types: Vec<HeaderType>,
    pub headers: Vec<Header>,
    pub header_stacks: Vec<HeaderStack>,
    pub header_union_types: Vec<UnionType>,
    pub header_unions: Vec<Union>,
    pub header_union_stacks: Vec<UnionStack>,
    pub field_lists: Vec<FieldList>,
    pub errors: Vec<(String, u32)>,
    pub parsers: Vec<Parser>,
    pub parse_vsets: Vec<ParseVset>,
    pub deparsers: Vec<Deparser>,
    pub meter_arrays: Vec<MeterArray>,
    pub counter_arrays: Vec<CounterArray>,
    pub register_arrays: Vec<RegisterArray>,
    pub calculations: Vec<Calculation>,
    pub learn_lists: Vec<FieldList>,
    pub actions: Vec<Action>,
    pub pipelines: Vec<Pipeline>,
    pub checksums: Vec<Checksum>,
    pub extern_instances: Vec<Json>,
    pub field_aliases: Vec<(String, (String, String))>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Meta {
    #[serde(default)]
    pub version: Vec<u32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderType {
    pub name: String,
    /// `[name, width or "*", signed, saturating]`, the last two optional.
    pub fields: Vec<Vec<Json>>,
    #[serde(default)]
    pub length_exp: Option<Json>,
    #[serde(default)]
    pub max_length: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub name: String,
    pub id: u64,
    pub header_type: String,
    #[serde(default)]
    pub metadata: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HeaderStack {
    pub name: String,
    pub header_ids: Vec<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UnionType {
    pub name: String,
    /// `[name, header type]`.
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Union {
    pub name: String,
    pub id: u64,
    pub union_type: String,
    pub header_ids: Vec<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UnionStack {
    pub name: String,
    pub union_type: String,
    pub header_union_ids: Vec<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FieldList {
    pub id: u32,
    pub name: String,
    #[serde(default)]
    pub elements: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Parser {
    pub name: String,
    pub init_state: Option<String>,
    pub parse_states: Vec<ParseState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParseState {
    pub name: String,
    #[serde(default)]
    pub parser_ops: Vec<ParserOp>,
    #[serde(default)]
    pub transitions: Vec<Transition>,
    #[serde(default)]
    pub transition_key: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParserOp {
    pub op: String,
    #[serde(default)]
    pub parameters: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transition {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
    pub mask: Option<String>,
    pub next_state: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ParseVset {
    pub name: String,
    pub compressed_bitwidth: u64,
    #[serde(default)]
    pub max_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Deparser {
    pub name: String,
    pub order: Vec<String>,
    #[serde(default)]
    pub primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MeterArray {
    pub name: String,
    #[serde(default)]
    pub is_direct: bool,
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default)]
    pub rate_count: Option<u64>,
    #[serde(rename = "type")]
    pub unit: String,
    #[serde(default)]
    pub result_target: Option<(String, String)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CounterArray {
    pub name: String,
    #[serde(default)]
    pub is_direct: bool,
    #[serde(default)]
    pub size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RegisterArray {
    pub name: String,
    pub size: u64,
    pub bitwidth: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Calculation {
    pub name: String,
    pub algo: String,
    pub input: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub name: String,
    pub id: u64,
    #[serde(default)]
    pub runtime_data: Vec<Param>,
    #[serde(default)]
    pub primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Param {
    pub name: String,
    pub bitwidth: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Primitive {
    pub op: String,
    #[serde(default)]
    pub parameters: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Pipeline {
    pub name: String,
    pub init_table: Option<String>,
    #[serde(default)]
    pub tables: Vec<Table>,
    #[serde(default)]
    pub action_profiles: Vec<ActionProfile>,
    #[serde(default)]
    pub conditionals: Vec<Conditional>,
    #[serde(default)]
    pub action_calls: Vec<ActionCall>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionProfile {
    pub name: String,
    #[serde(default)]
    pub max_size: Option<u64>,
    #[serde(default)]
    pub selector: Option<Selector>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Selector {
    pub algo: String,
    pub input: Vec<Json>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Conditional {
    pub name: String,
    pub expression: Json,
    pub true_next: Option<String>,
    pub false_next: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionCall {
    pub name: String,
    pub action_id: u64,
    pub next_node: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub name: String,
    #[serde(default)]
    pub key: Vec<TableKey>,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub max_size: Option<u64>,
    #[serde(default)]
    pub with_counters: bool,
    #[serde(default)]
    pub support_timeout: bool,
    #[serde(default)]
    pub direct_meters: Option<String>,
    pub action_profile: Option<String>,
    #[serde(default)]
    pub action_ids: Vec<u64>,
    pub base_default_next: Option<String>,
    #[serde(default)]
    pub next_tables: serde_json::Map<String, Json>,
    pub default_entry: Option<DefaultEntry>,
    #[serde(default)]
    pub entries: Option<Vec<Entry>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TableKey {
    pub match_type: String,
    pub name: Option<String>,
    pub target: Json,
    pub mask: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct DefaultEntry {
    pub action_id: u64,
    #[serde(default)]
    pub action_const: bool,
    #[serde(default)]
    pub action_data: Vec<String>,
    #[serde(default)]
    pub action_entry_const: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub match_key: Vec<EntryKey>,
    pub action_entry: DefaultEntry,
    #[serde(default)]
    pub priority: i64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct EntryKey {
    pub match_type: String,
    pub key: Option<Json>,
    pub mask: Option<String>,
    pub prefix_length: Option<u64>,
    pub start: Option<String>,
    pub end: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Checksum {
    pub name: String,
    pub target: (String, String),
    #[serde(rename = "type")]
    pub kind: String,
    pub calculation: Option<String>,
    #[serde(default)]
    pub verify: Option<bool>,
    #[serde(default)]
    pub update: Option<bool>,
    pub if_cond: Option<Json>,
}
