//! What the controller takes of memory: a process of its own applies to switches in this one, and says its peak.

use std::process::Command;
use std::sync::Arc;

use controller::pipeline::Pipeline;
use controller::topology;

/// First argument of the child.
pub const MODE: &str = "memory";

/// Switches, hosts on each, queue pair policies and source policies.
const SIZES: [(u32, u32, u32, u32); 3] = [(1, 20, 100, 0), (1, 480, 4000, 2200), (10, 45, 4000, 3700)];

/// Runs the child for each size, and prints what it says.
pub async fn measure() {
    println!("memory of the controller, switches in another process:");
    for (switches, hosts, queue_pairs, sources) in SIZES {
        let text = super::fabric(switches, hosts, queue_pairs, sources);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fabric.yaml");
        std::fs::write(&path, &text).expect("written");
        let topology = super::parse_text(&text);
        let names: Vec<String> = topology.switches.keys().cloned().collect();
        let served = super::serve(&topology, &names).await;
        let addresses: Vec<String> = served
            .iter()
            .map(|(name, (address, device_id))| format!("{name}={address}={device_id}"))
            .collect();
        let program = std::env::current_exe().expect("a path");
        let run = move || Command::new(program).arg(MODE).arg(&path).args(addresses).output();
        let output = tokio::task::spawn_blocking(run).await.expect("it ends").expect("it runs");
        print!("  {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
}

/// Applies a file to the switches at `name=address=device id`, and prints the peak of its own memory.
pub async fn child(file: &str, addresses: &[String]) {
    let before = resident();
    let topology = topology::load(file.as_ref()).expect("accepted");
    let read = |text: &String| {
        let (name, rest) = text.split_once('=')?;
        let (address, device_id) = rest.split_once('=')?;
        Some((name.to_owned(), (address.to_owned(), device_id.parse().ok()?)))
    };
    let addresses = addresses.iter().filter_map(read).collect();
    let pipeline = Arc::new(Pipeline::v1model().expect("usable"));
    let (written, _) = super::apply(&pipeline, &topology, &addresses).await;
    let peak = resident();
    println!(
        "{written} entries: peak {:.1} MB, {:.2} kB for each above the {:.1} MB of the start",
        peak as f64 / 1000.0,
        (peak - before) as f64 / written as f64,
        before as f64 / 1000.0
    );
}

/// The peak of what this process had in memory, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
