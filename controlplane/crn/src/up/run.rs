//! A run from its first namespace to its last: what it makes, and that nothing of it stays.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use nix::sys::signal::Signal;

use super::network;
use super::process::{self, Identity, MARK, end, marked, within};
use super::state::{Folder, Journal, Record};
use super::stop::Stop;

/// How often a run is looked over for processes that were started while others were ended.
const ROUNDS: u32 = 5;

/// How long a process may take until it does what it is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How nice switches and agents are to what else the machine does; the least is -20, usual is 0.
const NICENESS: &str = "-10";

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How often it is looked for what a process is waited for.
const LOOK_FOR: Duration = Duration::from_millis(20);

/// Lines that a process may have said to be shown in full.
const LONG: usize = 12;
/// Lines at either end that are shown of one that said more.
const FEW: usize = 3;

/// A run. However the program goes on, everything is removed when this value goes.
#[derive(Debug)]
pub struct Run {
    journal: Journal,
    children: Vec<Process>,
    ended: bool,
}

/// A process that a run started.
#[derive(Debug)]
struct Process {
    name: String,
    child: Child,
    identity: Identity,
    status: Option<ExitStatus>,
}

/// Number of a process in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(usize);

impl Run {
    /// A new one, which has made nothing yet.
    pub fn begin(topology: &str) -> Result<Self> {
        let own = Identity::own()?;
        let mut journal = Journal::create()?;
        let owner = Record::Run(own, topology.to_owned());
        if let Err(error) = journal.note(&owner).and_then(|()| journal.put_sign(&owner)) {
            let _ = journal.folder.remove();
            return Err(error);
        }
        Ok(Self { journal, children: Vec::new(), ended: false })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.journal.folder.id()
    }

    /// A file in its folder; it goes with the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.journal.folder.file(name)
    }

    /// Says that a namespace is about to be made.
    pub fn note_namespace(&mut self, name: &str) -> Result<()> {
        self.journal.note(&Record::Namespace(name.to_owned()))
    }

    /// Starts a process within a namespace. What it says goes to files of the run.
    pub fn spawn(&mut self, namespace: &str, name: &str, command: &Command) -> Result<Number> {
        let file = |end: &str| File::create(self.file(&format!("{name}.{end}"))).into_diagnostic();
        let program = command.get_program().to_string_lossy().into_owned();
        let mut command = eagerly(command);
        command
            .env(MARK, self.id())
            .current_dir(self.file("."))
            // Ctrl-C is for us; they are ended in the right order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file("out")?)
            .stderr(file("err")?);
        let mut child = within(namespace, || command.spawn().into_diagnostic().wrap_err(program))?;
        let pid = i32::try_from(child.id()).into_diagnostic()?;
        // It can't be gone yet: nobody has waited for it.
        let identity = Identity::of(pid).ok_or_else(|| miette!("{name} (process {pid}) isn't in /proc"))?;
        if let Err(error) = self.journal.note(&Record::Process(identity)) {
            // One that isn't written down had better not be.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        self.children.push(Process { name: name.to_owned(), child, identity, status: None });
        Ok(Number(self.children.len() - 1))
    }

    /// How a process ended; `None` while it runs.
    pub fn status(&mut self, Number(number): Number) -> Option<ExitStatus> {
        let process = self.children.get_mut(number)?;
        if process.status.is_none() {
            process.status = process.child.try_wait().ok().flatten();
        }
        process.status
    }

    /// Sends a signal to a process.
    pub fn signal(&self, Number(number): Number, signal: Signal) {
        if let Some(process) = self.children.get(number) {
            process.identity.signal(signal);
        }
    }

    /// Waits until a process has ended, but not for ever.
    pub fn wait(&mut self, number: Number, time: Duration) -> Option<ExitStatus> {
        let begin = Instant::now();
        // Its first thread may have ended before the others: only the system knows when all have.
        while self.status(number).is_none() && begin.elapsed() < time {
            thread::sleep(LOOK);
        }
        self.status(number)
    }

    /// To be called between two looks at what a process is waited for since `begin`. Fails, with its last words, when it has
    /// ended or takes too long, as `ended` and `late` say, and when the run is to end.
    pub fn wait_on(
        &mut self,
        number: Number,
        begin: Instant,
        (ended, late): (&str, &str),
        stop: &Stop,
    ) -> Result<()> {
        if self.status(number).is_some() {
            return Err(miette!("{ended}: {}", self.last_words(number)));
        }
        if begin.elapsed() > PATIENCE {
            return Err(miette!("{late}: {}", self.last_words(number)));
        }
        stop.check()?;
        thread::sleep(LOOK_FOR);
        Ok(())
    }

    /// Of these processes the ones that have ended, and what they said last.
    pub fn ended(&mut self, numbers: impl IntoIterator<Item = Number>) -> Vec<(Number, String)> {
        let mut ended = Vec::new();
        for number in numbers {
            if self.status(number).is_some() {
                ended.push((number, self.last_words(number)));
            }
        }
        ended
    }

    /// Numbers of the processes that run, and their names.
    pub fn running(&self) -> impl Iterator<Item = (Identity, &str)> {
        let processes = self.children.iter().filter(|process| process.identity.is_running());
        processes.map(|process| (process.identity, process.name.as_str()))
    }

    /// What a process said last, for an error.
    pub fn last_words(&self, Number(number): Number) -> String {
        let Some(process) = self.children.get(number) else { return String::new() };
        let said = |end: &str| {
            let octets = fs::read(self.file(&format!("{}.{end}", process.name))).unwrap_or_default();
            // Where a hole is, nothing was said that wasn't heard.
            String::from_utf8_lossy(&octets).replace('\0', "")
        };
        let text = [said("err"), said("out")].into_iter().find(|text| !text.trim().is_empty());
        let text = text.unwrap_or_else(|| "it said nothing".to_owned());
        let lines: Vec<&str> = text.trim().lines().collect();
        // What is wrong stands at one end or the other: a program that explains its options ends with these.
        let shown: Vec<&str> = match lines.len() {
            0..LONG => lines,
            count => [&lines[..FEW], &["..."], &lines[count - FEW..]].concat(),
        };
        format!("{}: {}", process.name, shown.join("\n"))
    }

    /// Removes everything.
    pub fn end(mut self) -> Result<()> {
        self.clear()
    }

    fn clear(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let cleared = clear(&self.journal.folder, self.journal.noted());
        for process in &mut self.children {
            // Ended above; this buries it.
            let _ = process.child.try_wait();
        }
        cleared
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!("{error:?}");
        }
    }
}

/// Removes what a run has left: processes that it started, then its namespaces, then what is written about it.
pub fn clear(folder: &Folder, records: &[Record]) -> Result<()> {
    let process = |record: &Record| match record {
        Record::Process(identity) => Some(*identity),
        Record::Run(..) | Record::Namespace(_) => None,
    };
    let mut left: Vec<Identity> = records.iter().filter_map(process).collect();
    left.retain(|process| process.is_running());
    for _ in 0..ROUNDS {
        left.extend(marked(folder.id()));
        if left.is_empty() {
            break;
        }
        left = end(&left);
    }
    let mut problems: Vec<String> =
        left.iter().map(|process| format!("process {} doesn't end", process.pid)).collect();
    for record in records {
        if let Record::Namespace(name) = record
            && let Err(error) = network::remove(name)
        {
            problems.push(error.to_string());
        }
    }
    if !problems.is_empty() {
        return Err(miette!(
            help = format!(
                "what is left is written down in {}; `crn down {}` tries again",
                folder.file("").display(),
                folder.id()
            ),
            "run {}: {}",
            folder.id(),
            problems.join("; ")
        ));
    }
    folder.remove()
}

/// A command with a better claim to a processor than what else the machine does: who has to send now can't wait until others have
/// had theirs. Where that isn't allowed, `nice` says so on its standard error and starts it all the same.
fn eagerly(command: &Command) -> Command {
    let mut eager = Command::new("nice");
    eager.args(["-n", NICENESS]).arg(command.get_program()).args(command.get_args());
    eager
}

/// What a process is called that was started so often: what the one before said stays beside.
pub fn of_life(name: &str, lives: u32) -> String {
    if lives == 1 { name.to_owned() } else { format!("{name}#{lives}") }
}

/// Says which programs are missing, and how to come by them.
pub fn demand(programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<_> = programs.iter().filter(|(name, _)| process::find(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut help: Vec<&str> = missing.iter().map(|(_, help)| *help).collect();
    help.dedup();
    Err(miette!(help = help.join("; "), "not found: {}", names.join(", ")))
}
