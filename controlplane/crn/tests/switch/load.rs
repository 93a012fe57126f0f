//! Controllers don't stop packets: a long Write goes on while packets pass.

use nix::sys::signal::Signal;
use p4runtime::p4::v1::Update;

use crate::entries::{dscp, index, packet, push, route};
use crate::process::Process;
use crate::wires::{Wires, can_be_made};

/// Entries of the long Write: host routes that no packet uses.
const ENTRIES: u32 = 20_000;

#[test]
fn packets_pass_while_a_controller_writes() {
    if !can_be_made("packets_pass_while_a_controller_writes") {
        return;
    }
    std::thread::spawn(body).join().unwrap();
}

fn body() {
    let wires = Wires::new(2);
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--no-p4", "-i", "1@s1", "-i", "2@s2"]);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let index = index();
    let mut client = tokio.block_on(process.client(1));
    tokio.block_on(async {
        push(&mut client).await;
        let updates = [vec![dscp(&index, 0, 1)], route(&index, 1, 1), route(&index, 2, 2)].concat();
        client.write(updates).await.unwrap();
    });
    // The same two updates again and again, refused as existing: as much work, and no table grows full.
    let long: Vec<Update> = route(&index, 2, 2).into_iter().cycle().take(ENTRIES as usize).collect();
    let writing = tokio.spawn(async move { client.write(long).await });
    let mut passed = 0u32;
    while !writing.is_finished() {
        wires.send(1, &packet(1, 2, None, 0x11));
        assert_eq!(wires.receive(2)[42..60], [0x11; 18]);
        passed += 1;
    }
    // One at a time, each there and back through two processes: many parts of the Write came between.
    assert!(passed > 10, "{passed} packets passed");
    drop(tokio.block_on(writing).unwrap());
    assert_eq!(process.end(Signal::SIGTERM).status.code(), Some(0));
}
