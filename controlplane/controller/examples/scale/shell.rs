//! `p4runtime-shell` on the same switch with the same entries, as its users write them: one call for each. It needs
//! Python 3 and, the first time, the network; without, it is said to be absent.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use controller::pipeline::Pipeline;

/// Entries of `qp_rate_policy`.
const ENTRIES: u32 = 4000;
/// Set to a folder, the virtual environment is kept there.
const KEPT: &str = "CRN_INTEROP_VENVS";

/// Writes the same entries with both, one after the other, into a switch that has the program and all else.
pub async fn compare(pipeline: &Arc<Pipeline>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let without = super::parse_text(&super::fabric(1, 200, 0, 0));
    let with = super::parse_text(&super::fabric(1, 200, ENTRIES, 0));
    let names: Vec<String> = with.switches.keys().cloned().collect();
    let addresses = super::serve(&with, &names).await;
    super::apply(pipeline, &without, &addresses).await;
    let (written, took) = super::apply(pipeline, &with, &addresses).await;
    let ours = f64::from(u32::try_from(written).unwrap_or(u32::MAX)) / took.as_secs_f64();
    println!("{written} entries more into one switch, read and compared before: {took:?} ({ours:.0}/s)");
    // All of them out again, for the other.
    super::apply(pipeline, &without, &addresses).await;
    let Some((address, device)) = addresses.values().next().cloned() else { return };
    let theirs = tokio::task::spawn_blocking(move || shell(&root, &address, device)).await.expect("it ends");
    match theirs {
        Ok((one_by_one, batch)) => {
            let rate = |took: Duration| f64::from(ENTRIES) / took.as_secs_f64();
            println!(
                "  p4runtime-shell, entry by entry: {one_by_one:?} ({:.0}/s); ours is {:.1} times that",
                rate(one_by_one),
                ours / rate(one_by_one)
            );
            println!(
                "  its client below the shell, one batch: {batch:?} ({:.0}/s); ours is {:.1} times that",
                rate(batch),
                ours / rate(batch)
            );
        }
        Err(reason) => println!("  p4runtime-shell: absent ({})", reason.lines().last().unwrap_or_default()),
    }
}

/// What the script measured: all entries one by one, and in one batch.
fn shell(root: &Path, address: &str, device: u64) -> Result<(Duration, Duration), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let kept = std::env::var_os(KEPT).map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let interop = root.join("bmv2-tests/interop");
    let python = python(&kept.join("p4runtime-shell"), &interop.join("p4runtime-shell.txt"))?;
    let output = Command::new(python)
        .arg(interop.join("speed_of_p4runtime_shell.py"))
        .args([address, &device.to_string()])
        .arg(root.join("p4/bmv2/build/crn.p4info.txtpb"))
        .arg(ENTRIES.to_string())
        .output()
        .map_err(|error| error.to_string())?;
    let said = checked(&output)?;
    let mut seconds = said.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    match (seconds.next(), seconds.next()) {
        (Some(one_by_one), Some(batch)) => {
            Ok((Duration::from_secs_f64(one_by_one), Duration::from_secs_f64(batch)))
        }
        _ => Err(format!("no two figures: {said}")),
    }
}

/// A Python that has the package, or why there is none.
fn python(venv: &Path, packages: &Path) -> Result<PathBuf, String> {
    let python = venv.join("bin/python");
    let run = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        checked(&output)
    };
    if run(Command::new(&python).args(["-c", "import p4runtime_sh"])).is_ok() {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "-r"];
    run(Command::new(&python).args(install).arg(packages))?;
    Ok(python)
}

fn checked(output: &Output) -> Result<String, String> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
