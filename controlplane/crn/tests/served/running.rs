//! `crn controller` as a process that is watched through its health and metrics.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running controller whose log goes to a file; ends with this value.
pub struct Running {
    pub child: Child,
    /// Where its HTTP server listens.
    pub address: String,
    log: NamedTempFile,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts one with these words, and those that make it quick.
    pub fn with(args: Vec<String>, more: &[&str]) -> Running {
        let log = NamedTempFile::new().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_crn"))
            .args(args)
            .args(["--listen", "127.0.0.1:0", "--poll", "20", "--check", "1", "--log", "json"])
            .args(more)
            .env("NO_COLOR", "1")
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut running = Running { child, address: String::new(), log };
        let start = Instant::now();
        while running.address.is_empty() {
            assert!(start.elapsed() < PATIENCE, "{}", running.logged());
            assert!(running.child.try_wait().unwrap().is_none(), "it has ended: {}", running.logged());
            thread::sleep(Duration::from_millis(5));
            let logged = running.logged();
            let entries =
                logged.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let mut addresses = entries.filter_map(|entry| Some(entry["address"].as_str()?.to_owned()));
            running.address = addresses.next().unwrap_or_default();
        }
        running
    }

    /// What it has logged so far.
    pub fn logged(&self) -> String {
        fs::read_to_string(self.log.path()).unwrap()
    }

    /// A page of its HTTP server; empty while it isn't there.
    pub fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return String::new() };
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    /// Waits until a page says something; gives the page.
    pub fn until(&self, path: &str, what: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let page = self.get(path);
            if what(&page) {
                return page;
            }
            assert!(start.elapsed() < PATIENCE, "never came: {page}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until all switches hold what they should.
    pub fn healthy(&self) {
        self.until("/healthz", |page| page.contains("\"ok\":true") && page.contains("\"state\":\"ready\""));
    }
}

/// A metric's value.
pub fn value(page: &str, metric: &str) -> Option<u64> {
    let line = page.lines().find(|line| line.starts_with(metric))?;
    line.rsplit(' ').next()?.parse().ok()
}
