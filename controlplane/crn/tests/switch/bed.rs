//! A running switch with the project's program, on interfaces of its own.

use p4runtime::P4InfoIndex;
use p4runtime::client::Client;
use p4runtime::p4::v1::Update;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::entries::{dscp, index, push};
use crate::process::Process;
use crate::wires::Wires;

/// Everything of one test.
pub struct Bed {
    pub wires: Wires,
    pub folder: TempDir,
    pub process: Process,
    pub tokio: Runtime,
    pub index: P4InfoIndex,
    pub client: Client,
}

/// A namespace belongs to a thread: each test has its own.
pub fn in_a_thread(body: impl FnOnce() + Send + 'static) {
    std::thread::spawn(body).join().unwrap();
}

impl Bed {
    /// Ports from 1 to so many; the program is pushed, and packets without a DSCP may pass.
    pub fn new(ports: u16, arguments: &[&str]) -> Bed {
        let wires = Wires::new(ports);
        // Its thread is in the namespace of the one that makes it.
        let tokio =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let interfaces: Vec<String> = (1..=ports).map(|n| format!("{n}@s{n}")).collect();
        let mut all = vec!["--no-p4"];
        all.extend(interfaces.iter().flat_map(|interface| ["-i", interface]));
        all.extend(arguments);
        let process = Process::start(folder.path(), &all);
        let mut client = tokio.block_on(process.client(1));
        tokio.block_on(push(&mut client));
        let mut bed = Bed { wires, folder, process, tokio, index: index(), client };
        let class = dscp(&bed.index, 0, 1);
        bed.write(vec![class]);
        bed
    }

    /// Writes as the controller.
    pub fn write(&mut self, updates: Vec<Update>) {
        self.tokio.block_on(self.client.write(updates)).unwrap();
    }
}
