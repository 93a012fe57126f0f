//! The prompt of `crn up --cli`: what each order answers.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::sandbox::Sandbox;
use super::session::{Session, kept_the_rules};

pub fn orders_are_answered() {
    let sandbox = Sandbox::new();
    let mut session = Session::start_of(&sandbox, sandbox.topology(), &["--batches", "2"]);
    assert!(session.answer("help").contains("link NODE NODE down|up"));
    let nodes = session.answer("nodes");
    assert!(["lv1", "a", "b", "r", "crn controller"].iter().all(|name| nodes.contains(name)), "{nodes}");
    assert_eq!(session.ask("links"), ["lv1:1 -- a", "lv1:2 -- b", "lv1:3 -- r"]);
    let ping = session.answer("ping a r");
    assert!(ping.starts_with("a -> r: answered"), "{ping}");
    let all = session.ask("pingall");
    assert_eq!(all, ["a -> b r", "b -> a r", "r -> a b", "6 of 6 answered"]);
    // Hosts' names stand for their addresses, in that host.
    assert_eq!(session.answer("a echo to r"), "to 10.0.0.9");
    assert_eq!(session.answer("a ip -br -4 address show dev eth0 | grep -o '10[.0-9/]*'"), "10.0.0.1/32");
    assert!(session.answer("lv1 ip -br link").contains("lv1-eth3"));
    let failed = session.answer("a false");
    assert!(failed.contains("exit status: 1"), "{failed}");

    let routes = session.ask("tables lv1 ipv4_route");
    assert_eq!(routes.iter().filter(|line| line.starts_with("lv1  ipv4_route ")).count(), 3, "{routes:?}");
    assert!(routes.last().unwrap().ends_with(" entries, as it should hold them"), "{routes:?}");
    let absent = session.answer("tables lv1 nothing");
    assert!(absent.contains("holds nothing in nothing; it does in dscp_map"), "{absent}");
    session.ask("wait done");
    let figures = session.figures();
    assert_eq!((figures["a"].done, figures["b"].done), (4, 4), "{figures:?}");
    let counters = session.answer("counters");
    assert!(counters.contains("lv1"), "{counters}");

    for (order, right) in [
        ("nonsense", "error: there is no order and no node nonsense; help lists what there is"),
        ("link a b down", "error: no link is between a and b"),
        ("start lv1", "error: it runs"),
        ("kill nobody", "error: there is no node nobody"),
    ] {
        let answer = session.answer(order);
        assert!(answer.contains(right), "{order}: {answer}");
    }
    kept_the_rules(&session.exit());
    sandbox.is_clean();
}

/// What ends by itself is said, and can be started once more; its end is the prompt's, or nothing's.
pub fn a_death_is_said_and_ends_nothing() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, &[]);
    session.until_more(&["a", "b"], 2);
    let nodes = session.ask("nodes");
    let line = nodes.iter().find(|line| line.ends_with("  lv1")).unwrap();
    let pid = line.split_whitespace().next().unwrap().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    // Said as soon as it is noticed, before or with an answer.
    let mut said = String::new();
    while !said.contains("it ended by itself: lv1") {
        said += &session.answer("wait 1s");
    }
    assert!(session.answer("kill lv1").contains("it has ended already"));
    assert!(session.answer("start lv1").contains("lv1 runs, "));
    session.until_more(&["a", "b"], 2);
    kept_the_rules(&session.exit());
    sandbox.is_clean();
}

/// An order under way doesn't hold up a request to terminate.
pub fn terminated_within_a_hosts_command() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, &[]);
    session.until_more(&["a"], 1);
    let (status, said) = session.terminated_within("a sleep 1000");
    assert!(status.success(), "{status} {said}");
    sandbox.is_clean();
}
