//! Text of files and of switches, as it can be shown on a terminal and in a log.

/// Whether a character changes how the text around it is shown rather than being shown itself: control characters, and
/// directions and separators (Unicode, Bidirectional Format Controls), which show a text in another order.
pub fn disturbs(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::disturbs;

    #[test]
    fn what_is_read_disturbs_nothing_and_what_turns_it_round_does() {
        assert!(!"leaf1 \u{e9}\u{4e2d}\u{5d0}".contains(disturbs));
        assert!(
            ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{2028}']
                .into_iter()
                .all(disturbs)
        );
    }
}
