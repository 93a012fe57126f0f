//! What an operator may point the command at by mistake: files that are none, and ports where something else listens.
//! Every command ends, says what is wrong, and changes nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod endless;
mod served;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use served::{crn, edited, stderr, stdout, topology};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Listens and lets `answer` have every connection.
fn listening(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

/// HTTP/2 (RFC 9113, Frame Format).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
const DATA: u8 = 0;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;

/// Speaks HTTP/2, and gives each new stream to `answer`.
fn http2(mut stream: TcpStream, answer: impl Fn(&mut TcpStream, u32)) {
    let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
    let mut preface = [0; 24];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).is_err() {
            return;
        }
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        match head[3] {
            SETTINGS if head[4] & ACK == 0 => drop(stream.write_all(&frame(SETTINGS, ACK, 0, &[]))),
            HEADERS => answer(&mut stream, number),
            _ => {}
        }
    }
}

/// Literal header fields without indexing (RFC 7541, Literal Header Field without Indexing); `:status` 200 is indexed.
fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        if (*name, *value) == (":status", "200") {
            block.push(0x88);
            continue;
        }
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}

const GRPC: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];

/// A gRPC message of `octets`, claimed to be `length` long, and a good end.
fn message(stream: &mut TcpStream, number: u32, length: u32, octets: &[u8]) {
    let payload = [&[0], &length.to_be_bytes()[..], octets].concat();
    let _ = stream.write_all(&frame(HEADERS, END_HEADERS, number, &headers(&GRPC)));
    let _ = stream.write_all(&frame(DATA, 0, number, &payload));
    let end = headers(&[("grpc-status", "0")]);
    let _ = stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, number, &end));
}

/// Who listens, and what each command says of it.
type Listener = (&'static str, fn(TcpStream), &'static [&'static str]);

fn silent(mut stream: TcpStream) {
    let mut sink = [0; 4096];
    while stream.read(&mut sink).is_ok_and(|count| count > 0) {}
}

#[test]
fn whatever_listens_there_every_command_ends_and_says_why() {
    let listeners: [Listener; 9] = [
        ("takes the connection and is silent", silent, &["no answer"]),
        ("closes", drop, &["connection"]),
        (
            "an HTTP/1.1 server",
            |mut stream| drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            &["connection broke"],
        ),
        (
            "anything",
            |mut stream| while stream.write_all(&[0x5a; 4096]).is_ok() {},
            &["connection broke", "no answer"],
        ),
        ("HTTP/2 that never answers", |stream| http2(stream, |_, _| {}), &["no answer"]),
        (
            "another gRPC service",
            |stream| {
                http2(stream, |stream, number| {
                    let block =
                        headers(&[GRPC[0], GRPC[1], ("grpc-status", "12"), ("grpc-message", "what?")]);
                    drop(stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, number, &block)));
                });
            },
            &["UNIMPLEMENTED", "what?"],
        ),
        (
            "a message of 4 GiB",
            |stream| http2(stream, |stream, number| message(stream, number, u32::MAX, &[0; 100])),
            &["OUT_OF_RANGE", "connection broke"],
        ),
        (
            "no protobuf",
            |stream| http2(stream, |stream, number| message(stream, number, 4, &[0x0a, 0xff, 0xff, 0xff])),
            &["INTERNAL", "connection broke"],
        ),
        (
            "a web page",
            |stream| {
                http2(stream, |stream, number| {
                    let block = headers(&[(":status", "200"), ("content-type", "text/html")]);
                    let _ = stream.write_all(&frame(HEADERS, END_HEADERS, number, &block));
                    let _ = stream.write_all(&frame(DATA, END_STREAM, number, b"<html>hello</html>"));
                });
            },
            &["error"],
        ),
    ];
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    for (what, answer, said) in listeners {
        let at = format!("s1={}", listening(answer));
        for command in ["plan", "status", "apply"] {
            let start = Instant::now();
            let output = crn(&words(&[command, path, "--at", &at, "--timeout", "1"]));
            let took = start.elapsed();
            assert_eq!(output.status.code(), Some(1), "{what}: {command}: {}", stdout(&output));
            assert!(took < Duration::from_secs(40), "{what}: {command} took {took:?}");
            let text = stderr(&output);
            assert!(said.iter().any(|said| text.contains(said)), "{what}: {command}: {text}");
        }
    }
}

/// A file that nothing writes to, one with more errors than anybody reads, and a value that is refused once only.
#[test]
fn files_that_are_none_end_every_command_too() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = crn(&words(&["validate", pipe.to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is a named pipe"), "{}", stderr(&output));
    assert!(stderr(&output).contains("<(command)"), "{}", stderr(&output));

    // What another command prints is a pipe as well.
    let good = topology("incast-8to1.yaml");
    let script = format!("cat {} | {} validate /dev/stdin", good.display(), env!("CARGO_BIN_EXE_crn"));
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    let many = folder.path().join("many.yaml");
    let mut text = std::fs::read_to_string(&good).unwrap();
    for key in 0..20_000 {
        writeln!(text, "key{key}: 1").unwrap();
    }
    std::fs::write(&many, text).unwrap();
    let output = crn(&words(&["validate", many.to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("and 19500 more\n"), "{}", stderr(&output).len());
    assert!(stderr(&output).contains("20000 errors; nothing was changed"));
}

/// A value that is refused isn't called missing besides.
#[test]
fn a_refused_threshold_is_reported_once() {
    let (_folder, path) =
        edited("incast-8to1.yaml", "b_th: 100kB, ecn_threshold: 100kB", "ecn_threshold: 100kbps");
    let output = crn(&words(&["validate", Path::new(&path).to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(": 1 error; nothing was changed"), "{}", stderr(&output));
}

/// Files that a topology names are files, and no larger than they can be.
#[test]
fn certificates_and_programs_that_are_no_files_are_refused() {
    let (folder, path) = edited(
        "incast-8to1.yaml",
        "target: soft,",
        "target: soft, tls: { ca: ca.pem }, pipeline: { json: a, p4info: b },",
    );
    let made = Command::new("mkfifo").arg(folder.path().join("ca.pem")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("b")).unwrap();
    let output = crn(&words(&["validate", path.to_str().unwrap()]));
    assert_eq!(output.status.code(), Some(1));
    let text = unbroken(stderr(&output));
    assert!(text.contains("it is a named pipe, not a file"), "{text}");
    assert!(text.contains("it is a device, not a file"), "{text}");
}

/// An error without the lines that it was broken into.
fn unbroken(error: &str) -> String {
    error.split_whitespace().filter(|&word| word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn numbers_below_their_range_are_told_the_range() {
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    for (option, said) in
        [("--timeout", "a whole number from 1 to 600"), ("--election-id", "a whole number from 1 to ")]
    {
        let output = crn(&words(&["apply", path, option, "-1"]));
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(stderr(&output).contains(said), "{option}: {}", stderr(&output));
    }
}

/// A switch whose answer has no end fills no memory: it is given up at a limit that is said.
#[test]
fn an_answer_without_end_is_given_up_before_it_fills_the_memory() {
    let path = topology("incast-8to1.yaml");
    let path = path.to_str().unwrap();
    // Small entries are too many first, large ones too large.
    for (command, octets) in [("plan", 4), ("status", 4096), ("apply", 4096)] {
        let at = format!("s1={}", endless::serve(octets));
        // Several times what the limit allows: without it the process would end here.
        let script = format!(
            "ulimit -v 2500000; exec {} {command} {path} --at {at} --timeout 60",
            env!("CARGO_BIN_EXE_crn")
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(text.contains("in answer to one Read and there is no end"), "{command}: {text}");
        assert!(text.contains("at most 524288 (67108864 octets) are taken"), "{command}: {text}");
        assert!(command != "apply" || text.contains("nothing was changed"), "{command}: {text}");
    }
}
