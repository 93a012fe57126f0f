//! Usual shapes.

use crate::topology::decode::{Int, Located};
use crate::topology::model::Shape;
use crate::topology::shape::{choice, mapping};

use super::{LinkDefaults, TargetName};

mapping! {
    /// A usual shape. Hosts are h1, h2, ... with addresses 10.0.1.1, ...; `uplink` is about links between switches.
    struct Generate = "generate" {
        required {
            /// `star`: one switch s1. `leaf-spine`: leaf1, ..., spine1, ... `fat-tree`: pods of k/2 edge and k/2
            /// aggregation switches (p1e1, p1a1, ...) under (k/2)^2 cores (c1, ...).
            shape: Located<ShapeName> = "leaf-spine";
        }
        optional {
            /// Hosts of a star.
            hosts: Located<Int<1, 250>>;
            /// Leaves of a leaf-spine.
            leaves: Located<Int<1, 500>>;
            /// Spines of a leaf-spine.
            spines: Located<Int<1, 250>>;
            /// Hosts at each leaf of a leaf-spine.
            hosts_per_leaf: Located<Int<1, 250>>;
            /// Ports of each switch of a fat-tree, an even number; k^3/4 hosts.
            k: Located<Int<2, 32>>;
            /// What the switches are; default `soft`.
            target: TargetName;
            /// Rate and delay of links between switches; default `defaults.link`.
            uplink: LinkDefaults;
            /// Where the first switch's P4Runtime server listens; each further one at the next port.
            p4runtime: Located<String>;
            /// Where the first switch's Thrift server listens (BMv2); each further one at the next port.
            thrift: Located<String>;
        }
    }
}

choice! {
    /// A usual shape.
    enum ShapeName = "a shape" {
        "star" => Shape::Star,
        "leaf-spine" => Shape::LeafSpine,
        "fat-tree" => Shape::FatTree,
    } -> Shape
}
