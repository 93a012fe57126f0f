//! Programs in C, C++ and Python that use the library as others would. A compiler or interpreter that isn't there is listed
//! as absent.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

/// Where cargo puts the libraries of this crate: beside the test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn present(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) -> Result<(), Failed> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{command:?}: {}\n{text}", output.status).into())
}

/// Builds a program with warnings as errors and runs it.
fn compiled(compiler: &str, flags: &[&str], source: &str, library: &[&Path]) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    let program = scratch.path().join("program");
    run(Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-pthread"])
        .args(flags)
        .arg("-I")
        .arg(root().join("include"))
        .arg(root().join("tests/programs").join(source))
        .args(library)
        // What the static library needs of the system.
        .args(["-ldl", "-lm"])
        .arg("-o")
        .arg(&program))?;
    run(Command::new(&program).env("LD_LIBRARY_PATH", libraries()))
}

fn header_is_up_to_date() -> Result<(), Failed> {
    run(cargo().args([
        "run",
        "--quiet",
        "--locked",
        "-p",
        "admission-c",
        "--example",
        "header",
        "--",
        "--check",
    ]))
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds both crates without the feature, in a target directory of its own, and gives where they are.
fn built_without() -> Result<PathBuf, Failed> {
    let target = libraries().join("../../removed");
    run(cargo()
        .args(["build", "--quiet", "--locked", "-p", "admission", "-p", "admission-c", "--target-dir"])
        .arg(&target))?;
    Ok(target.join("debug"))
}

//~ ADMISSION, Configuration, Compatibility, and Rollback: 9fefb64c f62f9633
fn default_build_has_nothing() -> Result<(), Failed> {
    let built = built_without()?;
    let library = std::fs::read(built.join(format!("{DLL_PREFIX}crn_admission{DLL_SUFFIX}")))?;
    let has = |name: &str| library.windows(name.len()).any(|window| window == name.as_bytes());
    assert!(has("adm_built"));
    assert!(!has("adm_try_acquire") && !has("MC_ADAPTIVE_CC"), "code of the controller is left");
    let scratch = tempfile::tempdir()?;
    let program = scratch.path().join("surface");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run(Command::new(rustc)
        .args(["--edition", "2024", "-D", "warnings"])
        .arg(root().join("tests/programs/surface.rs"))
        .arg("--extern")
        .arg(format!("admission={}", built.join("libadmission.rlib").display()))
        .arg("--extern")
        .arg(format!("wire={}", find(&built.join("deps"), "libwire-", ".rlib")?.display()))
        .arg("-L")
        .arg(format!("dependency={}", built.join("deps").display()))
        .arg("-o")
        .arg(&program))?;
    run(&mut Command::new(&program))
}

fn find(directory: &Path, prefix: &str, suffix: &str) -> Result<PathBuf, Failed> {
    let fits = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(prefix) && name.ends_with(suffix))
    };
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())).filter(fits).collect();
    found.sort_by_key(|path| std::fs::metadata(path).and_then(|data| data.modified()).ok());
    found.pop().ok_or_else(|| format!("no {prefix}*{suffix} in {}", directory.display()).into())
}

fn main() {
    let arguments = Arguments::from_args();
    let shared = libraries().join(format!("{DLL_PREFIX}crn_admission{DLL_SUFFIX}"));
    let archive = libraries().join("libcrn_admission.a");
    let (c, cpp, python) = (present("gcc"), present("g++"), present("python3"));
    let absent = |there: bool, name: &str| {
        if there { name.to_owned() } else { format!("{name} (absent: its compiler or interpreter)") }
    };
    let trials = vec![
        Trial::test(absent(c, "c::shared_library"), {
            let shared = shared.clone();
            move || compiled("gcc", &["-std=c11", "-D_DEFAULT_SOURCE"], "transport.c", &[&shared])
        })
        .with_ignored_flag(!c),
        Trial::test(absent(c, "c::static_library"), move || {
            compiled("gcc", &["-std=c11", "-D_DEFAULT_SOURCE"], "transport.c", &[&archive])
        })
        .with_ignored_flag(!c),
        Trial::test(absent(c, "c::without_the_controller"), || {
            compiled("gcc", &["-std=c99"], "removed.c", &[])
        })
        .with_ignored_flag(!c),
        Trial::test(absent(cpp, "cpp::permit"), {
            let shared = shared.clone();
            move || compiled("g++", &["-std=c++17"], "permit.cpp", &[&shared])
        })
        .with_ignored_flag(!cpp),
        Trial::test(absent(python, "python::ctypes"), move || {
            run(Command::new("python3").arg(root().join("tests/programs/transport.py")).arg(&shared))
        })
        .with_ignored_flag(!python),
        Trial::test("removed::default_build_has_nothing", default_build_has_nothing),
        Trial::test("header::is_up_to_date", header_is_up_to_date),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
