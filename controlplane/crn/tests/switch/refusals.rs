//! What `crn switch` refuses to start with: clear words, exit code 1, or 2 for wrong usage.

use std::process::Command;

use crate::process::refused;

pub fn an_interface_that_isnt_there_is_named() {
    let (code, error) = refused(&["--no-p4", "-i", "1@nosuchif0"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("nosuchif0"), "{error}");
    assert!(error.contains("no interface") && error.contains("ip link"), "{error}");
}

/// A command that `setpriv` runs as nobody.
fn as_nobody(what: &[&str]) -> std::io::Result<std::process::Output> {
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"];
    Command::new("setpriv").args(user).args(what).env("NO_COLOR", "1").output()
}

/// What is missing for a test that gives its rights away.
pub fn without_setpriv() -> Option<&'static str> {
    let binary = env!("CARGO_BIN_EXE_crn");
    let able = nix::unistd::geteuid().is_root()
        && as_nobody(&[binary, "--version"]).is_ok_and(|output| output.status.success());
    (!able).then_some("root or setpriv")
}

pub fn without_permission_it_says_which_is_needed() {
    let output = as_nobody(&[env!("CARGO_BIN_EXE_crn"), "switch", "--no-p4", "-i", "1@lo"]).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("root") && error.contains("CAP_NET_RAW"), "{error}");
}

pub fn a_program_or_an_address_that_cant_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.json");
    std::fs::write(&broken, "{").unwrap();
    let (code, error) = refused(&[broken.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("broken.json"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, error) = refused(&["--no-p4", "--grpc-server-addr", &address]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains(&address), "{error}");
}

pub fn wrong_usage_exits_with_2() {
    for arguments in [
        &["--no-p4", "-i", "veth1"][..],
        &["--no-p4", "--priority-queues", "0"],
        &["--no-p4", "--grpc-server-ssl"],
        &["--no-p4", "--frobnicate"],
    ] {
        let (code, error) = refused(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
    }
}

pub fn an_engine_that_isnt_there_is_refused_with_those_that_are() {
    let (code, error) = refused(&["--no-p4", "--engine", "fast"]);
    assert_eq!(code, Some(2), "{error}");
    for word in ["--engine", "fast", "automatic", "native", "interpreter"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}
