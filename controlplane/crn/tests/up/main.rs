//! `crn up` and `crn down` in real network namespaces: figures, and that nothing stays, however a run ends. Listed as absent
//! without root or the programs that it takes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod capture;
mod cli;
mod ends;
mod faults;
mod incast;
mod lossy;
mod mininet;
mod sandbox;
mod session;
mod soak;

use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use nix::sys::signal::Signal;
use sandbox::{Sandbox, is_installed, namespaces, text};
use serde_json::Value;

/// Both senders' messages arrive, and what the switch says it reported is what the hosts heard.
fn figures(arguments: &[&str]) {
    let sandbox = Sandbox::new();
    let mut line = vec!["up", sandbox.topology(), "--json", "--batches", "4"];
    line.extend(arguments);
    let output = sandbox.crn(&line).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    for sender in ["a", "b"] {
        let host = &figures["hosts"][sender];
        assert_eq!(host["summary"]["messages"]["submitted"], 8, "{host}");
        assert_eq!(host["summary"]["messages"]["done"], 8, "{host}");
        assert_eq!(host["summary"]["sender"]["invariant_violations"], 0, "{host}");
    }
    let receiver = &figures["hosts"]["r"]["summary"]["receiver"];
    assert_eq!(receiver["messages_completed"], 16, "{receiver}");
    assert_eq!(receiver["invariant_violations"], 0, "{receiver}");
    let hosts = figures["hosts"].as_object().unwrap().values();
    let heard: u64 = hosts
        .map(|host| host["reports_heard"].as_u64().unwrap() + host["reports_ignored"].as_u64().unwrap())
        .sum();
    let cells = figures["switches"]["lv1"].as_array().unwrap();
    let sent: u64 = cells
        .iter()
        .filter(|cell| cell["counter"] == "reports_sent")
        .map(|cell| cell["packets"].as_u64().unwrap())
        .sum();
    assert_eq!(heard, sent, "{figures}");
    assert!(figures["scale"].as_u64().unwrap() > 1, "{figures}");
    sandbox.is_clean();
}

fn a_run_delivers_all_messages_and_says_what_it_scaled() {
    figures(&[]);
    let sandbox = Sandbox::new();
    let line = ["up", sandbox.topology(), "--batches", "1", "--rate", "50Mbps", "--compare"];
    let output = sandbox.crn(&line).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("rates are the file's / 2000, times x 2000"), "{said}");
    assert!(said.contains("50 Mbit/s instead of 100 Gbit/s"), "{said}");
    assert!(said.contains("rdcc-receiver"), "{said}");
    assert!(said.contains("crn sim") && said.contains("goodput as a part of the bottleneck"), "{said}");
    sandbox.is_clean();
}

fn a_run_on_bmv2_delivers_all_messages() {
    figures(&["--target", "bmv2"]);
}

/// What a switch reports comes through another one, which passes it on and says nothing about it: what arrives is what both say
/// they sent, and at the receiver some of it is the first one's.
fn over_two_switches(arguments: &[&str]) {
    let sandbox = Sandbox::new();
    let topology = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/up/over-two.yaml");
    let line = [&["up", topology, "--json", "--batches", "4"], arguments].concat();
    let output = sandbox.crn(&line).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    session::kept_the_rules(&figures);
    let hosts = figures["hosts"].as_object().unwrap();
    let of = |host: &Value, key: &str| host[key].as_u64().unwrap();
    assert_eq!(hosts.values().map(|host| of(host, "done")).sum::<u64>(), 16, "{figures}");
    let heard = |host: &Value| of(host, "reports_heard") + of(host, "reports_ignored");
    let came: u64 = hosts.values().map(heard).sum();
    let sent = |switch: &str, of: Option<&str>| -> u64 {
        let cells = figures["switches"][switch].as_array().unwrap();
        let cells = cells.iter().filter(|cell| cell["counter"] == "reports_sent");
        let cells = cells.filter(|cell| of.is_none_or(|of| cell["of"] == of));
        cells.map(|cell| cell["packets"].as_u64().unwrap()).sum()
    };
    assert_eq!(sent("lv1", None) + sent("lv2", None), came, "{figures}");
    let [first, second] = ["lv1", "lv2"].map(|switch| sent(switch, Some("congestion, to receiver")));
    assert_eq!(first + second, heard(&hosts["r"]), "{figures}");
    assert!(first > 0, "some pass the second switch: {figures}");
    sandbox.is_clean();
}

fn reports_pass_another_switch() {
    over_two_switches(&[]);
}

fn reports_pass_another_bmv2() {
    over_two_switches(&["--target", "bmv2"]);
}

fn a_duration_ends_a_run_that_goes_on() {
    let sandbox = Sandbox::new();
    let line = ["up", sandbox.topology(), "--json", "--batches", "1000000", "--duration", "2s"];
    let output = sandbox.crn(&line).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!((2.0..10.0).contains(&figures["seconds"].as_f64().unwrap()), "{figures}");
    assert!(figures["hosts"]["a"]["summary"]["messages"]["done"].as_u64() > Some(0), "{figures}");
    sandbox.is_clean();
}

fn two_runs_at_a_time_dont_meet_and_down_removes_only_the_one_named() {
    let sandbox = Sandbox::new();
    let long = sandbox.start(&["--batches", "1000000"]);
    let first = sandbox.run_of(&long);
    let other = sandbox.crn(&["up", sandbox.topology(), "--batches", "2"]).output().unwrap();
    assert!(other.status.success(), "{}", text(&other.stderr));
    assert!(namespaces(&first).len() == 4, "one for each host, one for the switches");
    // Where the kernel has neither netem nor tbf, a host's interface keeps what it had.
    let mut tc = Command::new("tc");
    let shown = tc.args(["-n", &format!("crn-{first}-a"), "qdisc", "show", "dev", "eth0"]).output().unwrap();
    let shown = text(&shown.stdout);
    let said = text(&other.stdout);
    let shaped = shown.contains("netem") || shown.contains("tbf");
    assert_eq!(shaped, !said.contains("neither netem nor tbf"), "{said}{shown}");
    // Where the kernel delays, the switch doesn't.
    assert_eq!(
        shown.contains("netem"),
        !said.contains("crn switch delays, and loses, what its links carry"),
        "{said}{shown}"
    );
    assert!(!shaped || shown.contains("rate 100Mbit"), "{shown}");
    let wrong = sandbox.crn(&["down", "nothing"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains(&format!("there are: {first}")), "{}", text(&wrong.stderr));
    let down = sandbox.crn(&["down", &first]).output().unwrap();
    assert!(down.status.success(), "{}", text(&down.stderr));
    assert!(text(&down.stdout).contains(&format!("run {first} (")), "{}", text(&down.stdout));
    let output = long.finish();
    // It was asked to end, as by Ctrl-C, and still gives its figures.
    assert!(output.0.success(), "{}", output.1);
    sandbox.is_clean();
    let again = sandbox.crn(&["down"]).output().unwrap();
    assert_eq!(text(&again.stdout), "Nothing is left of any run.\n");
}

/// Over both switches, in both families; and a network without workload stands until it is ended.
fn hosts_reach_each_other() {
    let sandbox = Sandbox::new();
    let topology = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/up/two-switches.yaml");
    let mut live = sandbox.start_of(topology, &[]);
    while !live.line().starts_with("the file has no workload") {}
    let runs = sandbox.runs();
    let host = format!("crn-{}-a", runs.first().unwrap());
    for address in ["10.0.0.2", "10.0.0.9", "fd00::9"] {
        let mut ping = Command::new("ip");
        let output =
            ping.args(["netns", "exec", &host, "ping", "-c", "1", "-W", "5", address]).output().unwrap();
        assert!(output.status.success(), "{address}: {}{}", text(&output.stdout), text(&output.stderr));
    }
    live.signal(Signal::SIGTERM);
    let (status, said) = live.finish();
    assert!(status.success(), "{said}");
    sandbox.is_clean_of(&runs);
}

fn what_cant_be_is_said_and_nothing_is_made() {
    let sandbox = Sandbox::new();
    let refused = |line: &[&str], right: &str| {
        let output = sandbox.crn(line).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line:?}");
        let said = text(&output.stderr).replace("\n  │ ", " ");
        assert!(said.contains(right), "{line:?}: {said}");
        sandbox.is_clean();
    };
    refused(
        &["up", sandbox.topology(), "--target", "bmv2"],
        "not found: simple_switch_grpc, simple_switch_CLI",
    );
    let large = concat!(env!("CARGO_MANIFEST_DIR"), "/../../topologies/leaf-spine.yaml");
    refused(&["up", large], "has 1008 switches and hosts; up to 200 run on one machine");
    refused(&["up", "nowhere.yaml"], "nowhere.yaml");
}

fn without_root_it_says_so() {
    let sandbox = Sandbox::new();
    for command in ["up", "down"] {
        let output = sandbox.as_nobody(command).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains("by root only") && said.contains(&format!("sudo crn {command}")), "{said}");
    }
    sandbox.is_clean();
}

/// What a test takes besides root, `ip` and `ethtool`.
type Needs = &'static [&'static str];

/// A test, what it is called, and what it takes.
type Case = (&'static str, fn(), Needs);

const BMV2: Needs = &["simple_switch_grpc", "simple_switch_CLI"];
const BMV2_MOUNT: Needs = &["simple_switch_grpc", "simple_switch_CLI", "mount", "umount"];
const MININET: Needs = &["mn", "ping"];
const MININET_BMV2: Needs = &["mn", "ping", "simple_switch_grpc", "simple_switch_CLI"];

const CASES: &[Case] = &[
    (
        "a_run_delivers_all_messages_and_says_what_it_scaled",
        a_run_delivers_all_messages_and_says_what_it_scaled,
        &[],
    ),
    ("a_run_on_bmv2_delivers_all_messages", a_run_on_bmv2_delivers_all_messages, BMV2),
    ("reports_pass_another_switch", reports_pass_another_switch, &[]),
    ("reports_pass_another_bmv2", reports_pass_another_bmv2, BMV2),
    ("a_duration_ends_a_run_that_goes_on", a_duration_ends_a_run_that_goes_on, &[]),
    (
        "two_runs_at_a_time_dont_meet_and_down_removes_only_the_one_named",
        two_runs_at_a_time_dont_meet_and_down_removes_only_the_one_named,
        &[],
    ),
    ("hosts_reach_each_other", hosts_reach_each_other, &["ping"]),
    ("what_cant_be_is_said_and_nothing_is_made", what_cant_be_is_said_and_nothing_is_made, &[]),
    ("without_root_it_says_so", without_root_it_says_so, &[]),
    ("captured_files_hold_what_passed", capture::files_hold_what_passed, &[]),
    ("a_run_killed_at_any_moment_leaves_nothing_after_down", ends::killed_at_any_moment, &[]),
    ("an_interrupt_at_any_moment_leaves_nothing", ends::interrupted_at_any_moment, &[]),
    ("a_run_whose_folder_has_gone_leaves_nothing", ends::folder_gone, &[]),
    ("a_panic_leaves_nothing", ends::panicked, &[]),
    ("what_links_lose_is_lost_in_both_directions_and_sent_again", lossy::both_directions, &["ping"]),
    ("a_switch_that_dies_ends_the_run_and_is_named", ends::switch_died, &[]),
    ("the_prompt_answers_orders", cli::orders_are_answered, &["ping"]),
    ("a_death_is_said_at_the_prompt_and_ends_nothing", cli::a_death_is_said_and_ends_nothing, &[]),
    ("a_request_to_terminate_ends_a_hosts_command", cli::terminated_within_a_hosts_command, &[]),
    ("a_switch_killed_under_load_comes_back_whole", faults::switch_killed, &[]),
    ("the_controller_killed_under_load_finds_all_as_it_was", faults::controller_killed, &[]),
    ("agents_killed_under_load_are_taken_up_again", faults::agents_killed, &[]),
    ("a_link_that_flaps_costs_time_and_no_message", faults::link_flapped, &["ping"]),
    ("a_full_disk_costs_lines_and_no_message", faults::disk_full, &["mount", "umount"]),
    ("a_bmv2_killed_under_load_comes_back_whole", faults::on_bmv2::switch_killed, BMV2),
    (
        "the_controller_of_a_bmv2_killed_under_load_finds_all_as_it_was",
        faults::on_bmv2::controller_killed,
        BMV2,
    ),
    ("agents_around_a_bmv2_killed_under_load_are_taken_up_again", faults::on_bmv2::agents_killed, BMV2),
    ("a_full_disk_under_a_bmv2_costs_lines_and_no_message", faults::on_bmv2::disk_full, BMV2_MOUNT),
    ("the_incast_live_is_within_2_of_its_simulation", incast::beside_its_simulation, &[]),
    ("the_incast_live_on_bmv2_is_within_2_of_its_simulation", incast::bmv2_beside_its_simulation, BMV2),
    ("in_the_incast_live_reports_arrive_and_grants_and_queue_fall", incast::soft, &[]),
    ("in_the_incast_live_on_bmv2_reports_arrive_and_grants_and_queue_fall", incast::bmv2, BMV2),
    ("a_long_run_is_flat_and_consistent", soak::flat_and_consistent, &[]),
    ("mininet_with_crn_switch_all_hosts_reach_all", mininet::pingall_soft, MININET),
    ("mininet_with_bmv2_all_hosts_reach_all", mininet::pingall_bmv2, MININET_BMV2),
    ("mininet_with_crn_switch_runs_the_workload", mininet::agents_soft, MININET),
    ("mininet_with_bmv2_runs_the_workload", mininet::agents_bmv2, MININET_BMV2),
    ("mininets_xterm_is_in_its_host", mininet::xterm, MININET),
    ("mininets_prompt_takes_commands_and_ends", mininet::prompt, MININET),
    ("mininet_ended_by_a_signal_leaves_nothing", mininet::terminated, MININET),
    ("mininet_ended_by_signals_at_any_moment_leaves_nothing", mininet::ended_at_any_moment, MININET),
    ("mininet_ended_within_a_command_that_takes_no_interrupt", mininet::ended_within_a_command, MININET),
    ("mininet_with_crn_switch_loses_what_links_lose", mininet::lossy, MININET),
];

/// Whether this machine lets root make namespaces; some containers don't.
fn can_make_namespaces() -> bool {
    let name = format!("crn-probe-{}", std::process::id());
    let ip = |verb: &str| {
        let status = Command::new("ip").args(["netns", verb, &name]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    ip("add") && ip("delete")
}

/// Its own harness: where something is missing, a test is listed as absent and ignored, not as passed.
fn main() {
    let mut arguments = Arguments::from_args();
    // They are about the same machine, and about time.
    arguments.test_threads = Some(1);
    let root = nix::unistd::geteuid().is_root();
    let allowed = root && can_make_namespaces();
    let missing = |needs: Needs| match ["ip", "ethtool"].iter().chain(needs).find(|name| !is_installed(name))
    {
        _ if !root => Some("root"),
        None if !allowed => Some("network namespaces"),
        absent => absent.copied(),
    };
    let trials = CASES.iter().map(|&(name, case, needs)| {
        let missing = missing(needs);
        let shown = missing.map_or_else(|| name.to_owned(), |what| format!("[{what} ABSENT] {name}"));
        let trial = Trial::test(shown, move || {
            case();
            Ok(())
        });
        trial.with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// How long a run may take to begin or to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
