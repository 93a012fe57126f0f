//! `crn controller` as a process that is watched through its health and metrics.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running controller; ends with this value.
pub struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts one with these words, and those that make it quick.
    pub fn with(mut args: Vec<String>, more: &[&str]) -> Running {
        args.extend(
            ["--listen", "127.0.0.1:0", "--poll", "20", "--check", "1", "--log", "json"].map(str::to_owned),
        );
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        let mut child = Command::new(env!("CARGO_BIN_EXE_crn"))
            .args(args)
            .env("NO_COLOR", "1")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it has ended");
            let entry: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(address) = entry["address"].as_str() {
                break address.to_owned();
            }
        };
        // Whoever writes must be read, or it would wait.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Running { child, address }
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
