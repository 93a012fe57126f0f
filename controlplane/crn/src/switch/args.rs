//! The command line of `crn switch`: `simple_switch_grpc`'s where it makes sense.

use std::fmt;
use std::path::PathBuf;

use miette::{Result, miette};
use softswitch::{PortConfig, SwitchConfig};

use super::engine::EngineName;
use super::values::{Depth, HIGHEST_PORT, Interface, Later, Lost, OfPort, Rate, said};
use super::wire::Wire;

/// Arguments of `crn switch`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "A lone `--`, as simple_switch_grpc wants it before its target's options, may stand anywhere."
)]
#[expect(clippy::struct_excessive_bools, reason = "one flag of the other program each")]
pub struct Args {
    /// The program: the JSON that p4c writes for BMv2. A controller can give another
    #[arg(value_name = "PROGRAM.json")]
    pub program: Option<PathBuf>,
    /// Start without a program; a controller gives it
    #[arg(long, conflicts_with = "program")]
    pub no_p4: bool,
    /// Its P4Info in text form [default: the one beside the program, if there is one]
    #[arg(long, value_name = "FILE", requires = "program")]
    pub p4info: Option<PathBuf>,
    /// Attach a network interface as a port, e.g. `1@veth1`; may be repeated
    #[arg(short, long = "interface", value_name = "PORT@IFACE")]
    pub interfaces: Vec<Interface>,
    /// The number that controllers know this switch by
    #[arg(long, value_name = "ID", default_value_t = 0)]
    pub device_id: u64,
    /// Where P4Runtime is served
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9559")]
    pub grpc_server_addr: String,
    /// Serve over TLS
    #[arg(long, requires_all = ["grpc_server_cert", "grpc_server_key"])]
    pub grpc_server_ssl: bool,
    /// The server's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    pub grpc_server_cert: Option<PathBuf>,
    /// The server's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    pub grpc_server_key: Option<PathBuf>,
    /// Serve only clients with a certificate of the CA
    #[arg(long, requires_all = ["grpc_server_ssl", "grpc_server_cacert"])]
    pub grpc_server_with_client_auth: bool,
    /// The CA that clients' certificates must come from (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_server_ssl")]
    pub grpc_server_cacert: Option<PathBuf>,
    /// The port of packet-ins and packet-outs; no interface may have it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..=510))]
    pub cpu_port: Option<u16>,
    /// The port number that means drop
    #[arg(long, value_name = "PORT", default_value_t = HIGHEST_PORT, value_parser = clap::value_parser!(u16).range(0..=511))]
    pub drop_port: u16,
    /// Priority queues per port; a packet with a higher priority is dropped
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub priority_queues: u8,
    /// Service rate: packets per second of each queue (`1000`, as in `set_queue_rate`) or bit/s of the port (`10Mbps`);
    /// with `PORT=` before it, of that port only; may be repeated
    #[arg(long, value_name = "[PORT=]RATE")]
    pub queue_rate: Vec<OfPort<Rate>>,
    /// Capacity of each queue in packets (`1000`; 64 if not given) or octets (`100kB`); with `PORT=` before it, of that
    /// port only; may be repeated
    #[arg(long, value_name = "[PORT=]DEPTH")]
    pub queue_depth: Vec<OfPort<Depth>>,
    /// Be the link behind a port: what leaves by it arrives so much later, as in `2ms`; with `PORT=` before it, of that port
    /// only; may be repeated
    #[arg(long, value_name = "[PORT=]TIME")]
    pub delay_out: Vec<OfPort<Later>>,
    /// Likewise: what comes in by it was sent so much earlier
    #[arg(long, value_name = "[PORT=]TIME")]
    pub delay_in: Vec<OfPort<Later>>,
    /// Likewise: this part of what leaves by it is lost, as in `0.1%`; which, is the same in each run
    #[arg(long, value_name = "[PORT=]PART")]
    pub loss_out: Vec<OfPort<Lost>>,
    /// Likewise: this part of what was sent to it is lost before it comes in
    #[arg(long, value_name = "[PORT=]PART")]
    pub loss_in: Vec<OfPort<Lost>>,
    /// What runs the program; packets come out the same
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = EngineName::Automatic)]
    pub engine: EngineName,
    /// Write what passes each interface to `IFACE_in.pcap` and `IFACE_out.pcap` in this folder
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// No interfaces: after so many seconds read each port's packets from `IFACE_in.pcap`, and write `IFACE_out.pcap`
    #[arg(long, value_name = "SECONDS", conflicts_with = "pcap")]
    pub use_files: Option<u64>,
    /// With --use-files: end when all packets have left
    #[arg(long, requires = "use_files")]
    pub exit_after_files: bool,
    /// Options of `simple_switch_grpc` that mean nothing here
    #[command(flatten)]
    pub ignored: Ignored,
}

/// Accepted so that scripts for BMv2 run unchanged; said to be without effect.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one flag of the other program each")]
pub struct Ignored {
    #[arg(long, hide = true)]
    log_console: bool,
    #[arg(long, hide = true)]
    log_flush: bool,
    #[arg(long, hide = true)]
    disable_swap: bool,
    #[arg(long, hide = true)]
    enable_swap: bool,
    #[arg(short = 'L', long, hide = true, value_name = "LEVEL")]
    log_level: Option<String>,
    #[arg(long, hide = true, value_name = "FILE")]
    log_file: Option<String>,
    #[arg(long, hide = true, value_name = "PORT")]
    thrift_port: Option<String>,
    #[arg(long, hide = true, value_name = "SOCKET")]
    nanolog: Option<String>,
    #[arg(long, hide = true, value_name = "SOCKET")]
    notifications_addr: Option<String>,
    #[arg(long, hide = true, value_name = "N")]
    max_port_count: Option<String>,
    #[arg(long, hide = true, value_name = "OCTETS")]
    dump_packet_data: Option<String>,
}

impl Ignored {
    /// Those that were given.
    pub fn given(&self) -> Vec<&'static str> {
        [
            (self.log_console, "--log-console"),
            (self.log_flush, "--log-flush"),
            (self.disable_swap, "--disable-swap"),
            (self.enable_swap, "--enable-swap"),
            (self.log_level.is_some(), "--log-level"),
            (self.log_file.is_some(), "--log-file"),
            (self.thrift_port.is_some(), "--thrift-port"),
            (self.nanolog.is_some(), "--nanolog"),
            (self.notifications_addr.is_some(), "--notifications-addr"),
            (self.max_port_count.is_some(), "--max-port-count"),
            (self.dump_packet_data.is_some(), "--dump-packet-data"),
        ]
        .into_iter()
        .filter_map(|(given, name)| given.then_some(name))
        .collect()
    }
}

/// What several options say together can't be.
#[derive(Debug)]
struct Clash(String);

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Args {
    /// What each option is by itself is checked by the parser; here, what they are together. Also mends
    /// `--pcap PROGRAM.json`, where the folder was left out.
    pub fn checked(mut self) -> Result<Args> {
        if self.program.is_none()
            && let Some(json) = self.pcap.take_if(|path| path.extension().is_some_and(|end| end == "json"))
        {
            self.program = Some(json);
            self.pcap = Some(PathBuf::from("."));
        }
        self.clash().map_or(Ok(self), |clash| Err(miette!("{clash}")))
    }

    fn clash(&self) -> Option<Clash> {
        if self.program.is_none() && !self.no_p4 {
            return Some(Clash(
                "no program: give PROGRAM.json, or --no-p4 if a controller gives it".to_owned(),
            ));
        }
        for (at, this) in self.interfaces.iter().enumerate() {
            let Interface { port, name } = this;
            if let Some(other) = self.interfaces[..at].iter().find(|other| other.port == *port) {
                return Some(Clash(format!("port {port} is given to both {} and {name}", other.name)));
            }
            if let Some(other) = self.interfaces[..at].iter().find(|other| other.name == *name) {
                return Some(Clash(format!("{name} is given as both port {} and port {port}", other.port)));
            }
            if Some(*port) == self.cpu_port || *port == self.drop_port {
                let role = if *port == self.drop_port { "drop" } else { "CPU" };
                return Some(Clash(format!(
                    "port {port} ({name}) is the {role} port: give it another number"
                )));
            }
        }
        (self.cpu_port == Some(self.drop_port)).then(|| Clash("the CPU port is the drop port".to_owned()))
    }

    /// What the switch is set up with.
    pub fn config(&self) -> SwitchConfig {
        SwitchConfig {
            priority_queues: self.priority_queues,
            drop_port: self.drop_port,
            cpu_port: self.cpu_port,
            default_port: self.port(None),
            engine: self.engine.into(),
            ..SwitchConfig::default()
        }
    }

    /// Ports that have something of their own.
    pub fn ports(&self) -> Vec<(u16, PortConfig)> {
        let rates = self.queue_rate.iter().filter_map(|rate| rate.port);
        let mut ports: Vec<u16> =
            rates.chain(self.queue_depth.iter().filter_map(|depth| depth.port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.into_iter().map(|port| (port, self.port(Some(port)))).collect()
    }

    /// How the link behind a port is.
    pub fn wire(&self, port: u16) -> Wire {
        Wire {
            delay_out: said(&self.delay_out, port).map_or(0, |later| later.0),
            delay_in: said(&self.delay_in, port).map_or(0, |later| later.0),
            loss_out: said(&self.loss_out, port).map_or(0, |lost| lost.0),
            loss_in: said(&self.loss_in, port).map_or(0, |lost| lost.0),
        }
    }

    /// What is said for all ports, then what is said for this one.
    fn port(&self, port: Option<u16>) -> PortConfig {
        let mut config = PortConfig::default();
        for of in [None, port] {
            for rate in self.queue_rate.iter().filter(|rate| rate.port == of) {
                config.rate = rate.value.0;
            }
            for depth in self.queue_depth.iter().filter(|depth| depth.port == of) {
                (config.queue_packets, config.queue_octets) = match depth.value {
                    Depth::Packets(packets) => (packets, None),
                    Depth::Octets(octets) => (u32::MAX, Some(octets)),
                };
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use softswitch::QueueRate;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Result<Args, String> {
        let words = std::iter::once("switch").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.args.checked().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_for_one_port_wins_over_what_is_for_all() {
        let args = args("a.json --queue-rate 3=10Mbps --queue-rate 1000 --queue-depth 3=100kB").unwrap();
        let all = PortConfig { rate: QueueRate::PacketsPerSecond(1000), ..PortConfig::default() };
        assert_eq!(args.config().default_port, all);
        let rate = QueueRate::BitsPerSecond { rate: 10_000_000, overhead_octets_per_packet: 24 };
        let three = PortConfig { rate, queue_packets: u32::MAX, queue_octets: Some(100_000) };
        assert_eq!(args.ports(), [(3, three)]);
    }

    #[test]
    fn a_link_is_said_for_a_port_or_for_all() {
        let line =
            "--no-p4 --delay-out 3=2ms --delay-out 1us --delay-in 3=500us --loss-out 0.1% --loss-in 3=2%";
        let args = args(line).unwrap();
        let wire = Wire { delay_out: 2_000_000, delay_in: 500_000, loss_out: 1000, loss_in: 20_000 };
        assert_eq!(args.wire(3), wire);
        assert_eq!(args.wire(4), Wire { delay_out: 1000, loss_out: 1000, ..Wire::default() });
    }

    #[test]
    fn simple_switchs_line_is_taken() {
        let line = "-i 1@a -i 2@b --pcap --device-id 3 --no-p4 --thrift-port 9090 -L warn --log-console \
                    --grpc-server-addr 0.0.0.0:1 --cpu-port 255";
        let args = args(line).unwrap();
        assert_eq!(args.pcap, Some(PathBuf::from(".")));
        assert_eq!(args.interfaces[1], Interface { port: 2, name: "b".to_owned() });
        assert_eq!(args.ignored.given(), ["--log-console", "--log-level", "--thrift-port"]);
        let args = self::args("--pcap a.json").unwrap();
        assert_eq!((args.program, args.pcap), (Some("a.json".into()), Some(".".into())));
    }

    #[test]
    fn what_cant_be_is_refused_with_the_reason() {
        for (line, reason) in [
            ("", "no program"),
            ("a.json --no-p4", "cannot be used with"),
            ("--no-p4 -i 1@a -i 1@b", "port 1"),
            ("--no-p4 -i 1@a -i 2@a", "a is given"),
            ("--no-p4 -i 5@a --cpu-port 5", "CPU port"),
            ("--no-p4 -i 511@a", "drop port"),
            ("--no-p4 -i 512@a", "9 bits"),
            ("--no-p4 -i a", "1@veth1"),
            ("--no-p4 --cpu-port 0", "cpu-port"),
            ("--no-p4 --queue-rate 10mbps", "is no rate"),
            ("--no-p4 --queue-depth 600=5", "before `=`"),
            ("--no-p4 --delay-out 3=2", "as in 50us"),
            ("--no-p4 --loss-out 3=2", "as in 1%"),
            ("--no-p4 --grpc-server-ssl", "grpc-server-cert"),
            ("--no-p4 --priority-queues 9", "priority-queues"),
        ] {
            let error = args(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
