//! RoCEv2 as others see it: scapy's layer (`PyPI`) checks headers and ICRC over IPv4 and IPv6, tshark's dissector (Debian) every
//! field. Either is listed as absent where it isn't to be had. `CRN_INTEROP_VENVS=DIR` keeps scapy's virtual environment in
//! `DIR/scapy`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use serde_json::{Value, json};
use wire::roce::{
    Aeth, Bth, Headers, HeadersOctets, ImmDt, NakCode, Opcode, Psn, Reth, Syndrome, UDP_PORT, icrc,
};
use wire::scone::RateSignal;
use wire::units::MbitPerSec;

struct Vector {
    name: String,
    headers: Headers,
    packet: Vec<u8>,
}

const IPV4: [u8; 20] = [0x45, 0x6a, 0, 0, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];

/// An IP packet of either version around a UDP payload without its ICRC, which is added.
fn packet(ipv6: bool, payload: &[u8]) -> Vec<u8> {
    let udp_octets = u16::try_from(8 + payload.len() + 4).unwrap();
    let mut packet = if ipv6 {
        let mut header = vec![0x66, 0xa1, 0x23, 0x45, 0, 0, 17, 64];
        header[4..6].copy_from_slice(&udp_octets.to_be_bytes());
        for host in [1, 2] {
            header.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
        header
    } else {
        let mut header = IPV4.to_vec();
        header[2..4].copy_from_slice(&(20 + udp_octets).to_be_bytes());
        header
    };
    for field in [0xc001, UDP_PORT, udp_octets, 0] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(payload);
    packet.extend(icrc(&packet, 0).unwrap());
    packet
}

fn vectors(signals: bool) -> Vec<Vector> {
    let mut vectors = Vec::new();
    let mut add = |name: String, headers: Headers, octets: HeadersOctets, payload: &[u8]| {
        for ipv6 in [false, true] {
            let name = format!("{name} over {}", if ipv6 { "IPv6" } else { "IPv4" });
            let packet = packet(ipv6, &[&octets[..], payload].concat());
            vectors.push(Vector { name, headers, packet });
        }
    };
    for opcode in (0..=Opcode::ACKNOWLEDGE.0).map(Opcode) {
        let number = u32::from(opcode.0);
        let payload: &[u8] = match opcode.position() {
            Some(_) if number.is_multiple_of(2) => &[0x5a; 40],
            Some(_) => &[1, 2, 3, 4, 5, 0, 0, 0],
            None => &[],
        };
        let bth = Bth {
            pad_count: if payload.len() == 8 { 3 } else { 0 },
            solicited_event: number.is_multiple_of(3),
            ack_request: number.is_multiple_of(2),
            partition_key: 0x8123,
            ..Bth::new(opcode, 0x00ab_cd00 + number, Psn::new(0x00ff_fff0 + number))
        };
        let reth =
            Reth { virtual_address: 0x0102_0304_0506_0708, remote_key: 0xdead_beef, dma_length: 1_000_000 };
        let headers = Headers {
            reth: opcode.has_reth().then_some(reth),
            aeth: opcode
                .has_aeth()
                .then_some(Aeth { syndrome: Syndrome::Ack { credit: 31 }, msn: 0x0012_3456 }),
            immediate: opcode.has_immediate().then_some(ImmDt(0xcafe_f00d)),
            ..Headers::new(bth)
        };
        add(opcode.to_string(), headers, headers.to_octets(), payload);
        // scapy knows no Rate Signal: to its ICRC the octets are payload, so they must have the value that counts.
        if signals && opcode.position().is_some() {
            let signal = RateSignal { extension_type: 0xe5, rate: MbitPerSec(u32::MAX) };
            let headers = Headers { rate_signal: Some(signal), ..headers };
            let octets = headers.to_octets();
            add(format!("{opcode} with a Rate Signal"), Headers::decode(&octets).unwrap().0, octets, payload);
        }
    }
    for syndrome in [Syndrome::RnrNak { timer: 12 }, Syndrome::Nak(NakCode::REMOTE_ACCESS_ERROR)] {
        let bth = Bth::new(Opcode::ACKNOWLEDGE, 1, Psn::new(2));
        let headers = Headers { aeth: Some(Aeth { syndrome, msn: 3 }), ..Headers::new(bth) };
        add(format!("{syndrome:?}"), headers, headers.to_octets(), &[]);
    }
    let bth = Bth { becn: true, ..Bth::new(Opcode::CNP, 0x0012_3456, Psn::new(0)) };
    add("CNP".to_owned(), Headers::new(bth), HeadersOctets::cnp(&bth), &[]);
    vectors
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn interop(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name)
}

/// A Python that has scapy; `None` where there is neither one nor a network to make it from.
fn python(folder: &Path) -> Option<PathBuf> {
    let venv = folder.join("scapy");
    let python = venv.join("bin/python");
    if succeeds(Command::new(&python).args(["-m", "pip", "show", "--quiet", "scapy"])) {
        return Some(python);
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "-r"];
    let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        && succeeds(Command::new(&python).args(install).arg(interop("scapy.txt")));
    made.then_some(python)
}

fn scapy(python: &Path) -> Result<(), Failed> {
    let vectors = vectors(true);
    let mut child = Command::new(python)
        .arg(interop("with_scapy.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut lines = String::new();
    for Vector { name, headers, packet } in &vectors {
        let Bth {
            opcode,
            solicited_event,
            migration_request,
            pad_count,
            version,
            partition_key,
            fecn,
            becn,
            reserved6,
            destination_qp,
            ack_request,
            reserved7,
            psn,
        } = headers.bth;
        let fields = json!({
            "opcode": opcode.0, "solicited": u8::from(solicited_event), "migreq": u8::from(migration_request),
            "padcount": pad_count, "version": version, "pkey": partition_key, "fecn": u8::from(fecn),
            "becn": u8::from(becn), "resv6": reserved6, "dqpn": destination_qp, "ackreq": u8::from(ack_request),
            "resv7": reserved7, "psn": psn.value(),
        });
        let line = json!({ "name": name, "packet": hex(packet), "fields": fields });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    child.stdin.take().ok_or("no standard input")?.write_all(lines.as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.ends_with("done\n") {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), vectors.len());
    // The other way round: what scapy built.
    let built: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("built ")).collect();
    assert_eq!(built.len(), 6);
    for line in built {
        let octets: Vec<u8> = (0..line.len() / 2)
            .map(|index| u8::from_str_radix(&line[2 * index..2 * index + 2], 16).unwrap())
            .collect();
        let (packet, ending) = octets.split_at(octets.len() - 4);
        assert_eq!(icrc(packet, 0).unwrap(), ending, "{line}");
        let ip_octets = if packet[0] >> 4 == 4 { 20 } else { 40 };
        let (headers, _) = Headers::decode(&packet[ip_octets + 8..]).unwrap();
        match headers.bth.opcode {
            Opcode::CNP => assert_eq!((headers.bth.destination_qp, headers.bth.becn), (0x0012_3456, true)),
            Opcode::ACKNOWLEDGE => {
                let aeth = Aeth { syndrome: Syndrome::Ack { credit: 31 }, msn: 3 };
                assert_eq!((headers.aeth, headers.bth.reserved6), (Some(aeth), 5));
                assert_eq!(headers.bth.psn, Psn::new(0x00ff_fffe));
            }
            _ => assert_eq!((headers.bth.opcode, headers.bth.pad_count), (Opcode::SEND_ONLY, 1)),
        }
    }
    Ok(())
}

/// tshark's names, and what they should show for a packet; an empty text for a header that isn't there.
fn shown(headers: &Headers, packet: &[u8]) -> Vec<(&'static str, Option<u64>)> {
    let Headers { bth, reth, aeth, .. } = *headers;
    let (_, icrc) = packet.split_last_chunk::<4>().unwrap();
    // tshark takes a CNP's ICRC for part of its payload.
    let icrc = (bth.opcode != Opcode::CNP).then_some(icrc);
    vec![
        ("infiniband.bth.opcode", Some(bth.opcode.0.into())),
        ("infiniband.bth.se", Some(bth.solicited_event.into())),
        ("infiniband.bth.m", Some(bth.migration_request.into())),
        ("infiniband.bth.padcnt", Some(bth.pad_count.into())),
        ("infiniband.bth.tver", Some(bth.version.into())),
        ("infiniband.bth.p_key", Some(bth.partition_key.into())),
        ("infiniband.bth.destqp", Some(bth.destination_qp.into())),
        ("infiniband.bth.a", Some(bth.ack_request.into())),
        ("infiniband.bth.psn", Some(bth.psn.value().into())),
        ("infiniband.reth.va", reth.map(|reth| reth.virtual_address)),
        ("infiniband.reth.r_key", reth.map(|reth| reth.remote_key.into())),
        ("infiniband.reth.dmalen", reth.map(|reth| reth.dma_length.into())),
        ("infiniband.aeth.syndrome", aeth.map(|aeth| aeth.syndrome.to_octet().into())),
        ("infiniband.aeth.msn", aeth.map(|aeth| aeth.msn.into())),
        ("infiniband.invariant.crc", icrc.map(|icrc| u32::from_be_bytes(*icrc).into())),
    ]
}

fn tshark() -> Result<(), Failed> {
    let vectors = vectors(false);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("roce.pcap");
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(std::fs::File::create(&path)?, header)?;
    for Vector { packet, .. } in &vectors {
        let octets = u32::try_from(packet.len())?;
        writer.write_packet(&PcapPacket::new(std::time::Duration::ZERO, octets, packet))?;
    }
    drop(writer);
    let names = shown(&vectors[0].headers, &vectors[0].packet);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-T", "json", "--no-duplicate-keys"]);
    let output = command.output()?;
    let dissected: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    assert_eq!(dissected.len(), vectors.len());
    assert!(names.len() > 10);
    for (dissected, Vector { name, headers, packet }) in dissected.iter().zip(&vectors) {
        let layers = &dissected["_source"]["layers"];
        assert!(layers.get("infiniband").is_some(), "{name}: tshark sees no InfiniBand in {layers}");
        for (field, expected) in shown(headers, packet) {
            assert_eq!(find(layers, field).map(number), expected, "{name}: {field}");
        }
        let immediate = find(layers, "infiniband.immdt").map(|text| text.replace(':', ""));
        let expected = headers.immediate.map(|immediate| format!("{:08x}", immediate.0));
        assert_eq!(immediate, expected, "{name}: immediate");
    }
    Ok(())
}

/// The first value of a field, however deep it stands.
fn find<'a>(layers: &'a Value, field: &str) -> Option<&'a str> {
    let object = layers.as_object()?;
    object.get(field).and_then(Value::as_str).or_else(|| object.values().find_map(|below| find(below, field)))
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => match text {
            "True" => 1,
            "False" => 0,
            _ => text.parse().unwrap(),
        },
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let folder = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("CRN_INTEROP_VENVS").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    // Making an environment takes its time; a list of the tests doesn't need one.
    let python = if arguments.list { None } else { python(&kept) };
    let has_scapy = arguments.list || python.is_some();
    let has_tshark = succeeds(Command::new("tshark").arg("--version"));
    let name = |name: &str, is_there| format!("{name}{}", if is_there { "" } else { " (absent)" });
    let with_scapy = move || python.as_deref().map_or(Ok(()), scapy);
    let trials = vec![
        Trial::test(name("scapy", has_scapy), with_scapy).with_ignored_flag(!has_scapy),
        Trial::test(name("tshark", has_tshark), tshark).with_ignored_flag(!has_tshark),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
