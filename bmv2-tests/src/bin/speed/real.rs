//! BMv2, whose input is a pipe: it opens it at its start and finds packets there when it has been set up, however long that
//! takes. What is in flight at once is limited, so that nothing is lost to a full queue and memory stays in the cache.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bmv2_tests::bmv2::bench;
use bmv2_tests::program::Program;
use nix::libc::O_NONBLOCK;
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::{Fault, Load, Rate, by_clock, files};

/// Packets in flight at most: more than BMv2's own buffer of 1,024 before ingress, so that no thread of it ever waits for us.
pub const WINDOW: usize = 2000;
/// How long nothing may leave.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what has left.
const LOOK: Duration = Duration::from_millis(1);

/// In a namespace of its own, for its ports.
pub fn measure(build: &Path, load: &Load) -> Result<Rate, Fault> {
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            in_namespace(build, load)
        });
        run.join().unwrap_or_else(|_| Err("the thread panicked".into()))
    })
}

/// Ends the process with it.
struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(build: &Path, folder: &Path) -> Result<Running, Fault> {
        let log = folder.join("log");
        let output = File::create(&log)?;
        let files = ["--use-files", "0", "-i", "1@h1", "-i", "2@h2"];
        let child = Command::new(build)
            .args(bench::arguments())
            .args(files)
            .args(bench::target_arguments())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Running { child, log })
    }

    /// A fault, with the end of what BMv2 has written.
    fn fault(&mut self, what: &str) -> Fault {
        let state = match self.child.try_wait() {
            Ok(Some(status)) => format!("it has ended ({status})"),
            _ => "it runs".to_owned(),
        };
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n  ");
        format!("{what}; {state}, and its last words are\n  {end}").into()
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Of all its threads.
    fn on_processor(&self) -> Result<Duration, Fault> {
        let mut threads = Vec::new();
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            threads.push(thread?.path().join("schedstat"));
        }
        files::on_processor(threads.into_iter())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_namespace(build: &Path, load: &Load) -> Result<Rate, Fault> {
    Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    files::write(&path("h2_in.pcap"), &[], 0)?;
    mkfifo(&path("h1_in.pcap"), Mode::S_IRUSR | Mode::S_IWUSR)?;
    // Also a reader, so that it needn't wait for BMv2; never blocks, so that a BMv2 that stands still is noticed.
    let mut pipe =
        OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(path("h1_in.pcap"))?;
    let [header, packet] = files::parts(&load.sent)?;
    pipe.write_all(&header)?;
    let mut running = Running::start(build, folder.path())?;
    let program = Program::load()?;
    let control = bench::set_up(&program, &load.setup)
        .map_err(|error| running.fault(&format!("it couldn't be set up: {error}")))?;
    let before = running.on_processor()?;
    let written = path("h2_out.pcap");
    feed(&mut running, &mut pipe, &packet, &written, load)?;
    let took = running.on_processor()?.saturating_sub(before);
    drop(control);
    Ok(Rate { clock: by_clock(&written, load)?, processor: load.packets as f64 / took.as_secs_f64() })
}

/// Puts packets into the pipe as long as not too many are in flight, until all have left.
fn feed(
    running: &mut Running,
    pipe: &mut File,
    packet: &[u8],
    written: &Path,
    load: &Load,
) -> Result<(), Fault> {
    let (mut fed, mut left, mut moved) = (0, 0, Instant::now());
    while left < load.packets {
        while fed < load.packets.min(left + WINDOW) {
            // Less than a page: as a whole or not at all.
            match pipe.write(packet) {
                Ok(_) => fed += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        thread::sleep(LOOK);
        // BMv2 writes each packet at once.
        let of_packets = fs::metadata(written)?.len().saturating_sub(files::FILE_HEADER);
        let now_left = usize::try_from(of_packets / (files::PACKET_HEADER + load.forwarded.len() as u64))?;
        if now_left > left {
            (left, moved) = (now_left, Instant::now());
        } else if running.has_ended() || moved.elapsed() > PATIENCE {
            let what = format!(
                "{left} of {} packets have left, {} are in it, and none has left for {} s",
                load.packets,
                fed - left,
                moved.elapsed().as_secs()
            );
            return Err(running.fault(&what));
        }
    }
    Ok(())
}
