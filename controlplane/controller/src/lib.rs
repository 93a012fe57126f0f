//! Topology YAML to switch entries: desired state, difference, writes.
