//! Text of files and of switches, as it can be shown on a terminal and in a log.

/// Whether a character changes how the text around it is shown rather than being shown itself: control characters, and
/// directions and separators (Unicode, Bidirectional Format Controls), which show a text in another order.
pub fn disturbs(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
