//! The `const` lines of P4 files.

use std::collections::HashMap;
use std::path::Path;

/// A P4 file: its name and text.
pub type File = (String, String);

/// A constant of the P4 program.
#[derive(Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Bits.
    pub width: usize,
    /// Its value.
    pub value: u128,
    /// Whether the source has it in hexadecimal.
    pub hex: bool,
    /// What the source says about it: the comment above its group, and the one on its line.
    pub comment: String,
    /// The file it stands in.
    pub file: String,
}

/// Reads a folder's `*.p4` files, in the order of their names.
pub fn read_folder(folder: &Path) -> Result<Vec<File>, String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(folder, error))? {
        let path = entry.map_err(|error| wrong(folder, error))?.path();
        if path.extension().is_some_and(|extension| extension == "p4") {
            let text = std::fs::read_to_string(&path).map_err(|error| wrong(&path, error))?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.push((name, text));
        }
    }
    files.sort();
    Ok(files)
}

/// All constants, in the order of the files and their lines. Types may be `bit<N>` or a `typedef` of it in any of the
/// files; values must be plain numbers.
pub fn constants(files: &[File]) -> Result<Vec<Constant>, String> {
    let typedefs = typedefs(files);
    let mut found: Vec<Constant> = Vec::new();
    for (file, text) in files {
        let mut comment: Vec<&str> = Vec::new();
        let mut in_group = false;
        for (number, line) in text.lines().enumerate() {
            // An indented `const` is a table's (`const default_action`), not the program's.
            let indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            if let Some(words) = line.strip_prefix("//") {
                // A comment after a constant begins a new group.
                if in_group {
                    comment.clear();
                    in_group = false;
                }
                comment.push(words.trim());
            } else if line.starts_with("const ") && !indented {
                in_group = true;
                let constant = parse(file, line, &comment.join(" "), &typedefs)
                    .map_err(|problem| format!("{file}:{}: {problem}: `{line}`", number + 1))?;
                if found.iter().any(|other| other.name == constant.name) {
                    return Err(format!("{file}:{}: `{}` is defined twice", number + 1, constant.name));
                }
                found.push(constant);
            } else {
                comment.clear();
                in_group = false;
            }
        }
    }
    Ok(found)
}

fn typedefs(files: &[File]) -> HashMap<&str, usize> {
    files
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("typedef ")?.split_once(';'))
        .filter_map(|(definition, _)| definition.trim().rsplit_once(' '))
        .filter_map(|(kind, name)| Some((name, bits(kind)?)))
        .collect()
}

fn bits(kind: &str) -> Option<usize> {
    kind.trim().strip_prefix("bit<")?.strip_suffix('>')?.trim().parse().ok()
}

fn parse(
    file: &str,
    line: &str,
    group: &str,
    typedefs: &HashMap<&str, usize>,
) -> Result<Constant, &'static str> {
    let rest = line.strip_prefix("const ").ok_or("no constant")?;
    let (definition, after) = rest.split_once(';').ok_or("a constant must stand on one line")?;
    let (left, value) = definition.split_once('=').ok_or("no value")?;
    let (kind, name) = left.trim().rsplit_once(' ').ok_or("no type")?;
    let width = bits(kind)
        .or_else(|| typedefs.get(kind.trim()).copied())
        .ok_or("the type is neither bit<N> nor a typedef of it")?;
    let (value, hex) = number(value.trim()).ok_or("the value isn't a plain number")?;
    if width > 128 || (width < 128 && value >> width != 0) {
        return Err("the value doesn't fit into its type");
    }
    let own = after.trim().strip_prefix("//").map_or("", str::trim);
    let comment = [group, own].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    Ok(Constant { name: name.to_owned(), width, value, hex, comment, file: file.to_owned() })
}

/// A number of P4: `64`, `0x40`, `8w64`, `0b1000000`, underscores allowed.
fn number(text: &str) -> Option<(u128, bool)> {
    let text = text.replace('_', "");
    // The width before `w` is repeated in the type.
    let digits = match text.split_once('w') {
        Some((width, digits)) if width.bytes().all(|octet| octet.is_ascii_digit()) => digits,
        _ => text.as_str(),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return Some((u128::from_str_radix(hex, 16).ok()?, true));
    }
    if let Some(binary) = digits.strip_prefix("0b") {
        return Some((u128::from_str_radix(binary, 2).ok()?, true));
    }
    Some((digits.parse().ok()?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Vec<Constant>, String> {
        constants(&[("types.p4".into(), "typedef bit<9> port_t;\n".into()), ("c.p4".into(), text.into())])
    }

    #[test]
    fn widths_come_from_the_type_or_its_typedef() {
        let found =
            one("// Ports.\nconst port_t CPU = 510; // highest\nconst bit<16> ETH = 0x0800;\n").unwrap();
        assert_eq!((found[0].width, found[0].value, found[0].hex), (9, 510, false));
        assert_eq!(found[0].comment, "Ports. highest");
        assert_eq!((found[1].width, found[1].value, found[1].hex), (16, 0x800, true));
        assert_eq!(found[1].comment, "Ports.");
    }

    #[test]
    fn a_tables_const_lines_are_not_constants() {
        assert_eq!(one("table t {\n    const default_action = NoAction();\n}\n").unwrap(), []);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        for (text, problem) in [
            ("const bit<8> A = B * 2;", "plain number"),
            ("const bit<8> A = 256;", "doesn't fit"),
            ("const int A = 2;", "neither"),
            ("const bit<8> A = 1;\nconst bit<8> A = 1;", "twice"),
        ] {
            let error = one(text).unwrap_err();
            assert!(error.contains(problem) && error.contains("c.p4:"), "{error}");
        }
    }
}
