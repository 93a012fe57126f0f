//! Writes `include/crn_admission.h` from the crate; with `--check` only says whether it is up to date.

use std::process::ExitCode;

fn main() -> ExitCode {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/include/crn_admission.h");
    let mut text = Vec::new();
    let config = cbindgen::Config::from_file(format!("{root}/cbindgen.toml"));
    let bindings = config.and_then(|config| {
        let mut builder = cbindgen::Builder::new().with_config(config);
        for file in [
            "lib",
            "types",
            "ffi/mod",
            "ffi/controller",
            "ffi/domains",
            "ffi/permits",
            "ffi/signals",
            "ffi/tasks",
        ] {
            builder = builder.with_src(format!("{root}/src/{file}.rs"));
        }
        builder.generate().map_err(|error| error.to_string())
    });
    match bindings {
        Ok(bindings) => bindings.write(&mut text),
        Err(error) => {
            eprintln!("header: {error}");
            return ExitCode::FAILURE;
        }
    }
    if std::env::args().any(|argument| argument == "--check") {
        if std::fs::read(&path).is_ok_and(|old| old == text) {
            return ExitCode::SUCCESS;
        }
        eprintln!("include/crn_admission.h is stale; `make generate` writes it");
        return ExitCode::FAILURE;
    }
    match std::fs::write(&path, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("header: {path}: {error}");
            ExitCode::FAILURE
        }
    }
}
