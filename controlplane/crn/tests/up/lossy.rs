//! Links that lose what the file says, in each direction by itself.

use std::fs;
use std::path::PathBuf;

use super::sandbox::Sandbox;
use super::session::{Session, kept_the_rules};

/// The usual topology, in which half of what `a` sends is lost, and a third of what the switch sends to `r`.
pub fn topology(sandbox: &Sandbox) -> PathBuf {
    let text = fs::read_to_string(sandbox.topology()).unwrap();
    let changed = text
        .replace("[\"lv1:1\", a] }", "[\"lv1:1\", a], loss: [0%, 50%] }")
        .replace("[\"lv1:3\", r] }", "[\"lv1:3\", r], loss: [33%, 0%] }");
    assert_eq!(changed.matches("loss").count(), 2);
    let path = sandbox.path("lossy.yaml");
    fs::write(&path, changed).unwrap();
    path
}

/// Of a hundred pings from `a` to `r`, a half of two thirds comes, and all answers do: six standard deviations either way.
pub fn a_third_is_answered(said: &str) {
    let received = said.split(" packets transmitted, ").nth(1).and_then(|rest| rest.split(' ').next());
    let received: u32 = received.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{said}"));
    assert!((6..=62).contains(&received), "{said}");
}

/// Pings over a lossy way; and over one that isn't, all are answered. With one packet in a hundred lost in each direction of each
/// link, all messages arrive all the same.
pub fn both_directions() {
    let sandbox = Sandbox::new();
    let lossy = topology(&sandbox);
    let mut session = Session::start_of(&sandbox, lossy.to_str().unwrap(), &["--batches", "1"]);
    a_third_is_answered(&session.answer("a ping -c 100 -i 0.01 -W 1 -q r"));
    session.exit();
    sandbox.is_clean();

    let text = fs::read_to_string(&lossy).unwrap();
    let text = text.replace(", loss: [0%, 50%]", "").replace(", loss: [33%, 0%]", "");
    let some = sandbox.path("some.yaml");
    fs::write(&some, text.replace("delay: 2us }", "delay: 2us, loss: 1% }")).unwrap();
    let mut session = Session::start_of(&sandbox, some.to_str().unwrap(), &["--batches", "3"]);
    session.ask("wait done");
    let figures = session.exit();
    kept_the_rules(&figures);
    let sum =
        |of: &str| ["a", "b"].iter().map(|host| figures["hosts"][host][of].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("done"), sum("aborted")), (12, 0), "{figures}");
    sandbox.is_clean();
}
