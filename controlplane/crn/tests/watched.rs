//! `crn controller` and its file, its log and its HTTP server: whatever an operator or a client does to them, it goes on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod served;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use served::running::Running;
use served::{Served, edited, topology};

fn start(served: &Served, path: &Path) -> Running {
    Running::with(served.args("controller", path.to_str().unwrap()), &[])
}

/// What takes the file's place and is none, or is gone, is refused like a bad edit, and the controller goes on.
#[test]
fn a_file_that_is_gone_or_none_is_refused_and_nothing_waits_for_it() {
    let served = Served::new("incast-8to1.yaml");
    let (folder, path) = edited("incast-8to1.yaml", "name: incast-8to1", "name: edited");
    let good = fs::read(&path).unwrap();
    let mut running = start(&served, &path);
    running.healthy();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let zeros = folder.path().join("zeros");
    std::os::unix::fs::symlink("/dev/zero", &zeros).unwrap();
    for (place, said) in [(&pipe, "is a named pipe"), (&zeros, "is larger than 4 MiB")] {
        fs::rename(place, &path).unwrap();
        let page = running.until("/healthz", |page| page.contains(said));
        assert!(page.starts_with("HTTP/1.1 503") && page.contains("\"state\":\"ready\""), "{page}");
    }
    fs::remove_file(&path).unwrap();
    let page = running.until("/healthz", |page| page.contains("can't read"));
    assert!(page.contains("no such file or directory"), "{page}");
    fs::write(&path, good).unwrap();
    running.healthy();
    running.until("/healthz", |page| page.contains("\"file_refused\":null"));
    // Signals are heard all the while.
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::rename(&pipe, &path).unwrap();
    running.until("/healthz", |page| page.contains("is a named pipe"));
    let pid = nix::unistd::Pid::from_raw(running.child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

/// With `--log json` whatever is logged is an object, what is wrong with the file too; and /healthz names file, line and reason of
/// every kind of refusal.
#[test]
fn a_refused_edit_is_fields_of_the_log_and_named_in_the_health() {
    let served = Served::new("incast-8to1.yaml");
    let (_folder, path) = edited("incast-8to1.yaml", "name: incast-8to1", "name: edited");
    let good = fs::read_to_string(&path).unwrap();
    let running = start(&served, &path);
    running.healthy();
    let name = path.to_str().unwrap();
    for (from, to, said) in [
        ("q_max: 1MB", "q_max: 4", "has no unit"),
        ("target: soft,", "target: soft, pipeline: { json: a, p4info: b },", "can't be read"),
        ("target: soft", "target: tofino", "no program for the Tofino"),
    ] {
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let page = running.until("/healthz", |page| page.contains(said));
        let health: serde_json::Value =
            serde_json::from_str(page.rsplit("\r\n\r\n").next().unwrap()).unwrap();
        let reason = health["file_refused"].as_str().unwrap();
        let line_of = health["file_problems"][0]["line"].as_u64().unwrap();
        assert!(reason.starts_with(&format!("{name}: line {line_of}: ")), "{reason}");
        assert!(health["file_problems"][0]["message"].as_str().unwrap().contains(said), "{health}");
    }
    let text = running.logged();
    let entries: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let entry = entries.iter().find(|entry| entry["code"] == "topology::pipeline").unwrap();
    assert!(entry["line"].is_u64() && entry["column"].is_u64() && entry["hint"].is_string(), "{entry}");
}

/// Whoever keeps connections open keeps the metrics from nobody; only reading is possible.
#[test]
fn metrics_stay_within_reach() {
    let served = Served::new("incast-8to1.yaml");
    let path = topology("incast-8to1.yaml");
    let running = start(&served, &path);
    let start = Instant::now();
    let mut open: Vec<TcpStream> = (0..70).map(|_| TcpStream::connect(&running.address).unwrap()).collect();
    open[1].write_all(b"GET /metrics HT").unwrap();
    running.healthy();
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    for stream in &mut open {
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        let mut text = Vec::new();
        assert!(stream.read_to_end(&mut text).is_ok(), "it is closed");
    }
    let ask = |method: &str| {
        let mut stream = TcpStream::connect(&running.address).unwrap();
        write!(stream, "{method} /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let head = ask("HEAD");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    let post = ask("POST");
    assert!(post.starts_with("HTTP/1.1 405") && post.to_lowercase().contains("allow: get, head"), "{post}");
}
