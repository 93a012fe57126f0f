//! TLS and mutual TLS by flags.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use p4runtime::client::Client;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::process::{DEVICE, Process, options};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

fn tls(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem())).domain_name("localhost")
}

/// The first call tells: in TLS 1.3 a client learns of a refused certificate only after the handshake.
async fn primary(address: &str, tls: ClientTlsConfig) -> Result<(), String> {
    let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap().tls_config(tls).unwrap();
    let channel: Channel = endpoint.connect().await.map_err(|error| format!("{error:?}"))?;
    let client = Client::over(channel, options(1)).await.map_err(|error| error.to_string())?;
    assert!(client.is_primary());
    Ok(())
}

fn on_tokio(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

pub fn tls_by_flags() {
    on_tokio(async {
        let (authority, stranger) = (Authority::new(), Authority::new());
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = authority.certify("localhost");
        write(folder.path(), &[("cert.pem", &certificate), ("key.pem", &key)]);
        let flags = ["--grpc-server-ssl", "--grpc-server-cert", "cert.pem", "--grpc-server-key", "key.pem"];
        let process = Process::start(folder.path(), &[&["--no-p4"][..], &flags].concat());
        primary(&process.address, tls(&authority)).await.unwrap();
        primary(&process.address, tls(&stranger)).await.unwrap_err();
        Client::connect(&process.address, options(2)).await.unwrap_err();
        assert_eq!(process.end(Signal::SIGTERM).status.code(), Some(0));
    });
}

pub fn mutual_tls_by_flags() {
    on_tokio(async {
        let (authority, clients, stranger) = (Authority::new(), Authority::new(), Authority::new());
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = authority.certify("localhost");
        let ca = clients.pem();
        write(folder.path(), &[("cert.pem", &certificate), ("key.pem", &key), ("ca.pem", &ca)]);
        let server = ["--grpc-server-ssl", "--grpc-server-cert", "cert.pem", "--grpc-server-key", "key.pem"];
        let client = ["--grpc-server-with-client-auth", "--grpc-server-cacert", "ca.pem"];
        let process = Process::start(folder.path(), &[&["--no-p4"][..], &server, &client].concat());
        let with = |certifier: &Authority| {
            let (certificate, key) = certifier.certify("controller");
            tls(&authority).identity(Identity::from_pem(certificate, key))
        };
        primary(&process.address, with(&clients)).await.unwrap();
        primary(&process.address, with(&stranger)).await.unwrap_err();
        primary(&process.address, tls(&authority)).await.unwrap_err();
    });
}

pub fn a_certificate_that_cant_be_used_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("cert.pem", "nonsense"), ("key.pem", "nonsense")]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let flags = ["--grpc-server-ssl", "--grpc-server-cert", &cert, "--grpc-server-key", &key];
    let address = ["--grpc-server-addr", "127.0.0.1:0"];
    let (code, error) = crate::process::refused(&[&["--no-p4"][..], &address, &flags].concat());
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("cert.pem"), "{error}");
    let (code, error) = crate::process::refused(&[
        "--no-p4",
        "--grpc-server-ssl",
        "--grpc-server-cert",
        "no/such.pem",
        "--grpc-server-key",
        &key,
    ]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("no/such.pem"), "{error}");
}

/// What an operator writes into the topology: `plan`, `apply` and `status` reach a switch that asks for a certificate.
pub fn the_topology_says_how_a_switch_is_recognised() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = authority.certify("switch.example");
    let (own, own_key) = clients.certify("controller");
    write(folder.path(), &[("cert.pem", &certificate), ("key.pem", &key), ("clients.pem", &clients.pem())]);
    write(folder.path(), &[("own.pem", &own), ("own-key.pem", &own_key), ("ca.pem", &authority.pem())]);
    let server = ["--grpc-server-ssl", "--grpc-server-cert", "cert.pem", "--grpc-server-key", "key.pem"];
    let client = ["--grpc-server-with-client-auth", "--grpc-server-cacert", "clients.pem"];
    let process = Process::start(folder.path(), &[&["--no-p4"][..], &server, &client].concat());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../topologies/incast-8to1.yaml");
    let text = fs::read_to_string(example).unwrap().replace("device_id: 1", &format!("device_id: {DEVICE}"));
    let run = |command: &str, tls: &str| {
        let path = folder.path().join("tls.yaml");
        fs::write(&path, text.replace("target: soft,", &format!("target: soft, {tls}"))).unwrap();
        let at = format!("s1={}", process.address);
        let mut crn = std::process::Command::new(env!("CARGO_BIN_EXE_crn"));
        let output =
            crn.args([command, path.to_str().unwrap(), "--at", &at]).env("NO_COLOR", "1").output().unwrap();
        (output.status.code(), crate::process::text(&output.stdout) + &crate::process::text(&output.stderr))
    };
    let good = "tls: { ca: ca.pem, certificate: own.pem, key: own-key.pem, name: switch.example },";
    for (command, says) in [("plan", "runs no program"), ("apply", "program pushed"), ("status", "ours (")] {
        let (code, said) = run(command, good);
        assert_eq!(code, Some(0), "{command}: {said}");
        assert!(said.contains(says), "{command}: {said}");
    }
    for (tls, says) in [
        ("", "if the switch wants TLS, give it a `tls` key"),
        ("tls: { ca: ca.pem, certificate: own.pem, key: own-key.pem },", "can't connect"),
        (
            "tls: { ca: clients.pem, certificate: own.pem, key: own-key.pem, name: switch.example },",
            "can't connect",
        ),
        ("tls: { ca: ca.pem, name: switch.example },", "error"),
        ("tls: { ca: none.pem, name: switch.example },", "none.pem can't be read"),
    ] {
        let (code, said) = run("status", tls);
        assert_eq!(code, Some(1), "{tls}: {said}");
        assert!(said.contains(says), "{tls}: {said}");
    }
}
