//! Which requirement of the four documents is met where.
//!
//! Splits each document into its requirement sentences and table rows, looks for the citations in code and tests, and
//! writes (or with `--check` compares) the lists under `docs/conformance`. Its README says how to cite.
//!
//! | module | what it does |
//! |---|---|
//! | `document` | document -> statements, each with a hash |
//! | `citation` | source files -> citations |
//! | `config` | headings and exceptions of a document |
//! | `check` | the three held together |
//! | `list` | the committed list, out and in |

mod check;
mod citation;
mod config;
mod document;
mod list;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// Lists which requirement of the documents is met where, and finds those that are not.
#[derive(Debug, Parser)]
struct Arguments {
    /// Fail when an enforced requirement has neither citations nor an exception, a citation is unknown, or a list is
    /// stale; write nothing.
    #[arg(long)]
    check: bool,
    /// The repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// The directory of the documents.
    #[arg(long, default_value = "../shared/spec")]
    documents: PathBuf,
    /// Print the statements of this document (for example RDCC) with their hashes and texts, and nothing else.
    #[arg(long)]
    print: Option<String>,
    /// With `--print`: only those that are open.
    #[arg(long, requires = "print")]
    open: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("conformance: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let directory = arguments.root.join("docs/conformance");
    let (citations, malformed) =
        citation::scan(&arguments.root).map_err(|error| format!("{}: {error}", arguments.root.display()))?;
    let mut fine = true;
    let mut complain = |line: &str| {
        eprintln!("{line}");
        fine = false;
    };
    if arguments.print.is_none() {
        for wrong in &malformed {
            complain(&format!("{}: should be `//= DOCUMENT, Heading: hash ...`", wrong.place));
        }
    }
    let configs = configs(&directory)?;
    for wrong in citations.iter().filter(|c| configs.iter().all(|(_, config)| config.name != c.document)) {
        complain(&format!("{}:{}: there is no document {}", wrong.file, wrong.line, wrong.document));
    }
    for (path, config) in &configs {
        let list_path = path.with_extension("md");
        let committed = fs::read_to_string(&list_path).unwrap_or_default();
        let document = arguments.documents.join(&config.file);
        let present = document.exists();
        let statements = if present {
            let text = read(&document)?;
            document::split(&text, &config.headings, &config.key_words)
                .map_err(|error| format!("{}: {error}", config.file))?
        } else {
            list::parse(&committed)
        };
        let coverage = check::check(config, &statements, &citations);
        if let Some(name) = &arguments.print {
            if *name == config.name {
                print(&statements, arguments.open.then_some(&coverage));
            }
            continue;
        }
        for fault in &coverage.faults {
            complain(fault);
        }
        if config.enforced {
            for open in &coverage.open {
                complain(open);
            }
        }
        let rendered = list::render(&coverage);
        if !arguments.check {
            fs::write(&list_path, &rendered).map_err(|error| format!("{}: {error}", list_path.display()))?;
        } else if rendered != committed {
            complain(&format!("{}: stale; run `cargo run -p conformance`", list_path.display()));
        }
        let counts = coverage.counts();
        let absent = if present { "" } else { " (document absent: held against the committed list)" };
        let state = if config.enforced { "enforced" } else { "listed" };
        println!(
            "{}: {} cited, {} excepted, {} open, {state}{absent}",
            config.name, counts.cited, counts.excepted, counts.open
        );
    }
    Ok(fine)
}

/// The configurations in `directory`, by file name.
fn configs(directory: &Path) -> Result<Vec<(PathBuf, config::Config)>, String> {
    let entries = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut configs = Vec::new();
    for path in paths {
        let config =
            config::Config::parse(&read(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        configs.push((path, config));
    }
    Ok(configs)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn print(statements: &[document::Statement], open: Option<&check::Coverage<'_>>) {
    let mut heading = "";
    for statement in statements {
        let is_open = |coverage: &check::Coverage<'_>| {
            coverage.open.iter().any(|line| line.contains(&format!(" {} ", statement.hash)))
        };
        if open.is_some_and(|coverage| !is_open(coverage)) {
            continue;
        }
        if heading != statement.heading {
            heading = &statement.heading;
            println!("\n# {heading}");
        }
        println!("{} [{}] {}", statement.hash, statement.key_words, statement.text);
    }
}
