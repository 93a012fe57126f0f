//! SCONE, Deployment across Intelligent Computing Data Centers: near-source advice and remote backpressure.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use core::net::IpAddr;

use proptest::prelude::*;
use scone::Datagram;
use scone::gateway::{ConfigError, Discarded, Gateway, GatewayConfig, Remote, Site, Taken};
use wire::scone::{Feedback, RateAdvice, RateSignal, SconeDatagram};
use wire::units::{MbitPerSec, Nanos};

const PORT: u16 = 50_003;
const US: u64 = 1000;

/// What is wrong about a configuration.
type Edit<'a> = &'a dyn Fn(&mut GatewayConfig);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn site(number: u8, senders: u8) -> Site {
    Site {
        prefix: format!("10.{number}.0.0/16").parse().unwrap(),
        senders: (1..=senders).map(|sender| IpAddr::from([10, number, 0, sender])).collect(),
    }
}

/// The gateway of data center `here`, 10.`here`.0.0/16, which knows the one of `there`. Switches are 10.x.255.1.
fn config(here: u8, there: u8) -> GatewayConfig {
    GatewayConfig {
        elements: [IpAddr::from([10, here, 255, 1])].into(),
        served: vec![site(here, 4)],
        remote: vec![Remote { site: site(there, 4), gateway: IpAddr::from([10, there, 255, 254]) }],
        ..GatewayConfig::new(IpAddr::from([10, here, 255, 254]), PORT)
    }
}

fn advice(rate: u32, source: &str) -> Vec<u8> {
    RateAdvice { rate: MbitPerSec(rate), source: ip(source) }.to_octets()
}

fn sent(gateway: &mut Gateway, now: u64) -> Vec<(String, String, u32)> {
    core::iter::from_fn(|| gateway.poll_transmit(Nanos(now)))
        .map(|Datagram { to, octets }| match wire::scone::decode(&octets).unwrap() {
            SconeDatagram::RateAdvice(advice) => (to.to_string(), advice.source.to_string(), advice.rate.0),
            SconeDatagram::Feedback(_) => panic!("feedback"),
        })
        .collect()
}

fn line(to: &str, source: &str, rate: u32) -> (String, String, u32) {
    (format!("{to}:{PORT}"), source.to_owned(), rate)
}

//~ SCONE, Deployment across Intelligent Computing Data Centers: 98b0b66d
#[test]
fn near_the_source_an_elements_advice_is_passed_on_at_once() {
    let mut gateway = Gateway::new(config(1, 2)).unwrap();
    let taken = gateway.handle_datagram(ip("10.1.255.1"), &advice(5000, "10.1.0.2"), Nanos(7));
    assert_eq!(taken, Ok(Taken::NearSource { sender: ip("10.1.0.2"), rate: MbitPerSec(5000) }));
    assert_eq!(gateway.poll_timeout(), Some(Nanos(7)));
    assert_eq!(sent(&mut gateway, 7), [line("10.1.0.2", "10.1.0.2", 5000)]);
    // A whole prefix may be named here too.
    let taken = gateway.handle_datagram(ip("10.1.255.1"), &advice(12_000, "10.1.0.0"), Nanos(100 * US));
    assert_eq!(taken, Ok(Taken::Prefix { prefix: site(1, 4).prefix, rate: MbitPerSec(12_000) }));
    let parts: Vec<_> = sent(&mut gateway, 100 * US).into_iter().map(|(_, _, rate)| rate).collect();
    assert_eq!(parts, [3000; 4], "the lower of the two for the second");
}

//~ SCONE, Deployment across Intelligent Computing Data Centers: c527b556
#[test]
fn backpressure_crosses_to_the_source_gateway_which_advises_its_senders() {
    let (mut source, mut egress) = (Gateway::new(config(1, 2)).unwrap(), Gateway::new(config(2, 1)).unwrap());
    let switch = ip("10.2.255.1");
    let taken = egress.handle_datagram(switch, &advice(2000, "10.1.0.3"), Nanos(0));
    assert_eq!(taken, Ok(Taken::Remote { sender: ip("10.1.0.3"), rate: MbitPerSec(2000) }));
    // One was named; the switch's rate is per source, so the prefix of four has four times that.
    assert_eq!(sent(&mut egress, 0), [line("10.1.255.254", "10.1.0.0", 8000)]);
    let octets = advice(8000, "10.1.0.0");
    let taken = source.handle_datagram(ip("10.2.255.254"), &octets, Nanos(10_000 * US));
    assert_eq!(taken, Ok(Taken::Prefix { prefix: site(1, 4).prefix, rate: MbitPerSec(8000) }));
    let to_all: Vec<_> =
        (1..=4).map(|n| line(&format!("10.1.0.{n}"), &format!("10.1.0.{n}"), 2000)).collect();
    assert_eq!(sent(&mut source, 10_000 * US), to_all);
    assert_eq!((source.stats().advised, egress.stats().backpressure), (4, 1));
    // Others have been advised other rates meanwhile: the sum of what each may send.
    egress.handle_datagram(switch, &advice(3000, "10.1.0.4"), Nanos(100 * US)).unwrap();
    assert_eq!(sent(&mut egress, 100 * US), [line("10.1.255.254", "10.1.0.0", 9000)]);
}

#[test]
fn a_rate_is_divided_among_active_senders_only() {
    let mut gateway = Gateway::new(config(1, 2)).unwrap();
    for idle in ["10.1.0.1", "10.1.0.2", "10.9.9.9"] {
        gateway.set_active(ip(idle), false);
    }
    gateway.handle_datagram(ip("10.2.255.254"), &advice(8000, "10.1.0.0"), Nanos(0)).unwrap();
    assert_eq!(
        sent(&mut gateway, 0),
        [line("10.1.0.3", "10.1.0.3", 4000), line("10.1.0.4", "10.1.0.4", 4000)]
    );
    assert_eq!(gateway.advised(Nanos(0)).len(), 2);
    for idle in ["10.1.0.3", "10.1.0.4"] {
        gateway.set_active(ip(idle), false);
    }
    assert_eq!(
        gateway.advice_for(ip("10.1.0.1"), Nanos(0)),
        Some(MbitPerSec(2000)),
        "none is active: all are"
    );
    gateway.set_active(ip("10.1.0.1"), true);
    assert_eq!(gateway.advice_for(ip("10.1.0.1"), Nanos(0)), Some(MbitPerSec(8000)));
}

#[test]
fn advice_is_repeated_while_it_holds_and_changes_keep_the_interval() {
    let mut gateway = Gateway::new(config(1, 2)).unwrap();
    let switch = ip("10.1.255.1");
    gateway.handle_datagram(switch, &advice(5000, "10.1.0.1"), Nanos(0)).unwrap();
    assert_eq!(sent(&mut gateway, 0).len(), 1);
    gateway.handle_datagram(switch, &advice(4000, "10.1.0.1"), Nanos(10 * US)).unwrap();
    assert_eq!((sent(&mut gateway, 10 * US).len(), gateway.poll_timeout()), (0, Some(Nanos(50 * US))));
    assert_eq!(sent(&mut gateway, 50 * US), [line("10.1.0.1", "10.1.0.1", 4000)]);
    for at in [450, 850] {
        assert_eq!(gateway.poll_timeout(), Some(Nanos(at * US)));
        assert_eq!(sent(&mut gateway, at * US), [line("10.1.0.1", "10.1.0.1", 4000)]);
    }
    // It came at 10 us and holds 1 ms.
    assert_eq!(
        (gateway.advice_for(ip("10.1.0.1"), Nanos(1010 * US - 1)).is_some(), gateway.poll_timeout()),
        (true, Some(Nanos(1250 * US)))
    );
    assert_eq!((sent(&mut gateway, 1250 * US).len(), gateway.poll_timeout()), (0, None));
}

#[test]
fn strangers_and_nonsense_are_discarded() {
    let mut gateway = Gateway::new(config(1, 2)).unwrap();
    let (switch, peer) = (ip("10.1.255.1"), ip("10.2.255.254"));
    let mut refused = |from, octets: &[u8]| {
        let error = gateway.handle_datagram(from, octets, Nanos(0)).unwrap_err();
        assert_eq!(gateway.poll_transmit(Nanos(0)), None);
        error
    };
    assert_eq!(refused(ip("10.1.0.1"), &advice(5000, "10.1.0.1")), Discarded::Untrusted(ip("10.1.0.1")));
    let remote_for_one = refused(peer, &advice(5000, "10.1.0.1"));
    assert!(remote_for_one.to_string().contains("first address of a prefix"), "{remote_for_one}");
    let unknown = refused(switch, &advice(5000, "10.7.0.1"));
    assert!(unknown.to_string().contains("10.7.0.1 from 10.1.255.1"), "{unknown}");
    assert!(matches!(refused(switch, &[0; 16]), Discarded::Malformed(_)));
    let signal = RateSignal { extension_type: 1, rate: MbitPerSec(1000) };
    assert_eq!(refused(switch, &Feedback { signal, destination_qp: 9 }.to_octets()), Discarded::Feedback(9));
    let (rate, least) = (MbitPerSec(9), MbitPerSec(10));
    assert_eq!(refused(switch, &advice(9, "10.1.0.1")), Discarded::BelowFloor { rate, least });
    assert_eq!(refused(peer, &advice(9, "10.1.0.0")), Discarded::BelowFloor { rate, least });
    let own = ip("10.1.255.254");
    assert_eq!(refused(own, &advice(5000, "10.1.0.1")), Discarded::Own(own), "forged, or sent in a circle");
    assert_eq!((gateway.stats().discarded, gateway.stats().taken), (8, 0));
}

/// The peer knows of one sender where four are: its rate is honest, and each of them has the floor.
#[test]
fn backpressure_below_the_floor_of_all_senders_gives_each_the_floor() {
    let mut gateway = Gateway::new(config(1, 2)).unwrap();
    for rate in [10, 39] {
        gateway.handle_datagram(ip("10.2.255.254"), &advice(rate, "10.1.0.0"), Nanos(0)).unwrap();
        assert_eq!(gateway.advice_for(ip("10.1.0.4"), Nanos(0)), Some(MbitPerSec(10)));
    }
    gateway.handle_datagram(ip("10.2.255.254"), &advice(44, "10.1.0.0"), Nanos(0)).unwrap();
    assert_eq!(gateway.advice_for(ip("10.1.0.4"), Nanos(0)), Some(MbitPerSec(11)));
}

#[test]
fn a_configuration_that_can_not_be_is_refused() {
    let refused = |edit: &dyn Fn(&mut GatewayConfig)| {
        let mut config = config(1, 2);
        edit(&mut config);
        Gateway::new(config).unwrap_err()
    };
    for repeat in [0, 49_999, 1_000_000] {
        assert!(matches!(refused(&|config| config.repeat = Nanos(repeat)), ConfigError::Repeat { .. }));
    }
    assert_eq!(refused(&|config| config.floor = MbitPerSec(0)), ConfigError::Floor);
    let outside = refused(&|config| config.served[0].senders.extend([ip("10.2.0.1")]));
    assert_eq!(outside.to_string(), "sender 10.2.0.1; it should be in its prefix, 10.1.0.0/16");
    assert!(matches!(refused(&|config| config.served[0].senders.clear()), ConfigError::NoSender(_)));
    // Every address has one gateway, and every prefix a first address of its own.
    for other in ["10.2.0.0/16", "10.2.0.0/24", "10.2.9.0/24", "10.0.0.0/8"] {
        let overlaps = refused(&|config| {
            let prefix = other.parse().unwrap();
            let sender = ipnet::IpNet::hosts(&prefix).next().unwrap();
            config.served.push(Site { prefix, senders: [sender].into() });
        });
        assert!(matches!(overlaps, ConfigError::Overlap(..)), "{other}: {overlaps}");
    }
    let first = refused(&|config| config.served[0].senders.extend([ip("10.1.0.0")]));
    assert!(first.to_string().contains("10.1.0.0 has the first address of 10.1.0.0/16"), "{first}");
    let mut alone = config(1, 2);
    alone.served[0].senders = [ip("10.1.0.0")].into();
    assert!(alone.check().is_ok(), "the only sender may have it");
    // Nothing that it sends may come back to it.
    let own = ip("10.1.255.254");
    let in_a_circle: [(&str, Edit<'_>); 4] = [
        ("sender", &|config| config.served[0].senders.extend([own])),
        ("remote gateway", &|config| config.remote[0].gateway = own),
        ("network element", &|config| config.elements.extend([own])),
        ("sender", &|config| config.address = ip("10.2.0.3")),
    ];
    for (what, edit) in in_a_circle {
        assert!(matches!(refused(edit), ConfigError::Own { what: of, .. } if of == what), "{what}");
    }
    for (what, edit) in [
        ("network element", &(|config: &mut GatewayConfig| config.elements.extend([ip("::1")])) as Edit<'_>),
        ("remote gateway", &|config: &mut GatewayConfig| config.remote[0].gateway = ip("fd00::1")),
    ] {
        assert!(matches!(refused(edit), ConfigError::Version { what: of, .. } if of == what), "{what}");
    }
}

proptest! {
    #[test]
    fn senders_together_get_no_more_than_their_prefix_and_each_no_less_than_the_floor(
        rate in any::<u32>(), idle in prop::collection::vec(1u8..=4, 0..4), octets in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut gateway = Gateway::new(config(1, 2)).unwrap();
        for sender in idle {
            gateway.set_active(IpAddr::from([10, 1, 0, sender]), false);
        }
        let _ = gateway.handle_datagram(ip("10.1.255.1"), &octets, Nanos(0));
        while gateway.poll_transmit(Nanos(0)).is_some() {}
        if gateway.handle_datagram(ip("10.2.255.254"), &advice(rate, "10.1.0.0"), Nanos(0)).is_ok() {
            let advised = gateway.advised(Nanos(0));
            let sum: u64 = advised.iter().map(|(_, rate)| u64::from(rate.0)).sum();
            let floors = 10 * advised.len() as u64;
            prop_assert!(sum <= u64::from(rate).max(floors) && advised.iter().all(|(_, rate)| rate.0 >= 10));
        }
    }
}
