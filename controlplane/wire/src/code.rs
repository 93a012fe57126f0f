//! Code points as newtypes over their field.

/// Defines a code point: the raw field, its known values as constants, and their registered names.
macro_rules! code {
    ($(#[$doc:meta])* $name:ident($raw:ty) { $($(#[$value_doc:meta])* $constant:ident = $value:literal => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            $($(#[$value_doc])* pub const $constant: Self = Self($value);)*

            /// The name that the document gives this value; `None` for one it doesn't define.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{:#04x}", self.0),
                }
            }
        }
    };
}

pub(crate) use code;
