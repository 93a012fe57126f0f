//! How shapes are declared: `mapping!` and `choice!`.

/// Declares the shape of a mapping: the struct, its reader and, by derive, its JSON Schema, so that the
/// three can't drift apart. Required keys come with an example for the hint. Every field is an `Option`,
/// because the reader goes on after an error.
macro_rules! mapping {
    (
        $(#[$meta:meta])*
        struct $name:ident = $what:literal {
            $(required { $( $(#[doc = $rdoc:literal])* $rfield:ident: $rty:ty = $example:literal; )* })?
            $(optional { $( $(#[doc = $odoc:literal])* $ofield:ident: $oty:ty; )* })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub(in crate::topology) struct $name {
            $($( $(#[doc = $rdoc])* #[schemars(required)] pub $rfield: Option<$rty>, )*)?
            $($( $(#[doc = $odoc])* pub $ofield: Option<$oty>, )*)?
            /// Keys that were given with values that were refused.
            #[schemars(skip)]
            pub refused: Vec<&'static str>,
        }

        impl $crate::topology::decode::FromNode for $name {
            fn from_node(
                node: &$crate::topology::node::Node,
                owner: $crate::topology::Span,
                problems: &mut $crate::topology::decode::Problems,
            ) -> Option<Self> {
                use $crate::topology::decode;
                let mut read = Self::default();
                let mut missing = vec![$($( (stringify!($rfield), $example), )*)?];
                for (key, value) in decode::entries(node, owner, problems)? {
                    let name = key.text.as_str();
                    // A required key without a value counts as missing, an optional one as not given.
                    if matches!(value.value, $crate::topology::node::Value::Null) && Self::KEYS.contains(&name) {
                        continue;
                    }
                    missing.retain(|(required, _)| *required != name);
                    match name {
                        $($( stringify!($rfield) => {
                            read.$rfield = decode::FromNode::from_node(value, key.span, problems);
                            if read.$rfield.is_none() {
                                read.refused.push(stringify!($rfield));
                            }
                        } )*)?
                        $($( stringify!($ofield) => {
                            read.$ofield = decode::FromNode::from_node(value, key.span, problems);
                            if read.$ofield.is_none() {
                                read.refused.push(stringify!($ofield));
                            }
                        } )*)?
                        _ => {
                            // A misspelt key is reported once, not as unknown and missing.
                            let meant = decode::unknown_key(key, $what, Self::KEYS, problems);
                            missing.retain(|(required, _)| Some(*required) != meant);
                            read.refused.extend(meant);
                        }
                    }
                }
                decode::missing_keys(&missing, $what, owner, problems);
                Some(read)
            }
        }

        impl $name {
            const KEYS: &'static [&'static str] =
                &[$($( stringify!($rfield), )*)? $($( stringify!($ofield), )*)?];
        }
    };
}
pub(super) use mapping;

/// Declares a value that is one of a few names, with its reader and its JSON Schema.
macro_rules! choice {
    ($(#[$meta:meta])* enum $name:ident = $what:literal { $( $text:literal => $variant:expr ),* $(,)? } -> $ty:ty) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(in crate::topology) struct $name(pub $ty);

        impl $crate::topology::decode::FromNode for $name {
            fn from_node(
                node: &$crate::topology::node::Node,
                owner: $crate::topology::Span,
                problems: &mut $crate::topology::decode::Problems,
            ) -> Option<Self> {
                const NAMES: &[&str] = &[$($text),*];
                let text = $crate::topology::decode::scalar($what, NAMES[0], node, owner, problems)?;
                match text {
                    $( $text => Some(Self($variant)), )*
                    _ => $crate::topology::decode::bad_choice($what, text, NAMES, node.span, problems),
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($text),*] })
            }
        }
    };
}
pub(super) use choice;
