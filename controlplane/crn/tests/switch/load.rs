//! Controllers don't stop packets: a long Write goes on while packets pass.

use nix::sys::signal::Signal;
use p4runtime::p4::v1::Update;

use crate::bed::{Bed, in_a_thread};
use crate::entries::{packet, route};

/// Entries of the long Write: host routes that no packet uses.
const ENTRIES: u32 = 20_000;

pub fn packets_pass_while_a_controller_writes() {
    in_a_thread(|| {
        let mut bed = Bed::new(2, &[]);
        bed.write([route(&bed.index, 1, 1), route(&bed.index, 2, 2)].concat());
        // The same two updates again and again, refused as existing: as much work, and no table grows full.
        let long: Vec<Update> = route(&bed.index, 2, 2).into_iter().cycle().take(ENTRIES as usize).collect();
        let Bed { wires, process, tokio, mut client, .. } = bed;
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
    });
}
