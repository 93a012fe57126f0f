//! The picture: rows of nodes, switches above what hangs on them, links as lines.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use controller::topology::{PeerNode, Topology};

use super::{end, label};

const NODE_WIDTH: f64 = 86.0;
const NODE_HEIGHT: f64 = 36.0;
const GAP: f64 = 14.0;
const ROW: f64 = 130.0;
const MARGIN: f64 = 24.0;
/// More nodes in a row than this are drawn without their addresses and closer together.
const FULL: usize = 24;

/// Draws a topology.
pub fn draw(topology: &Topology) -> String {
    let rows = rows(topology);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let small = widest > FULL;
    let (width, gap) = if small { (46.0, 6.0) } else { (NODE_WIDTH, GAP) };
    let total = (widest as f64).mul_add(width + gap, 2.0 * MARGIN).max(420.0);
    let height = 2.0f64.mul_add(MARGIN, (rows.len() as f64 - 1.0).mul_add(ROW, NODE_HEIGHT)) + 20.0;
    let mut places: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (row, names) in rows.iter().enumerate() {
        let step = (total - 2.0 * MARGIN) / names.len().max(1) as f64;
        for (column, name) in names.iter().enumerate() {
            let x = (column as f64 + 0.5).mul_add(step, MARGIN);
            places.insert(name, (x, (row as f64).mul_add(ROW, MARGIN + NODE_HEIGHT / 2.0 + 20.0)));
        }
    }
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total:.0} {height:.0}\" width=\"{total:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"14\" fill=\"#1f2933\">{0}</text>\n",
        escaped(&topology.name)
    );
    links(topology, &places, small, &mut text);
    for (name, (x, y)) in &places {
        node(topology, name, (*x, *y), width, small, &mut text);
    }
    text.push_str("</svg>\n");
    text
}

/// Switches by their distance from the nearest host, farthest first; the hosts last, each below its switch.
fn rows(topology: &Topology) -> Vec<Vec<&str>> {
    let mut level: BTreeMap<&str, usize> = BTreeMap::new();
    let mut queue: VecDeque<&str> = VecDeque::new();
    for host in topology.hosts.values() {
        if level.insert(&host.attachment.switch, 0).is_none() {
            queue.push_back(&host.attachment.switch);
        }
    }
    while let Some(name) = queue.pop_front() {
        let (Some(switch), Some(at)) = (topology.switches.get(name), level.get(name).copied()) else {
            continue;
        };
        for peer in switch.ports.values() {
            if let PeerNode::Switch(other, _) = &peer.node
                && !level.contains_key(other.as_str())
            {
                level.insert(other, at + 1);
                queue.push_back(other);
            }
        }
    }
    let highest = level.values().max().copied().unwrap_or(0);
    let mut rows: Vec<Vec<&str>> = vec![Vec::new(); highest + 1];
    for name in topology.switches.keys() {
        // A switch without a way to any host stands on top.
        let at = level.get(name.as_str()).copied().unwrap_or(highest);
        rows[highest - at].push(name);
    }
    for row in &mut rows {
        row.sort_by_key(|name| natural(name));
    }
    let order: BTreeMap<&str, usize> =
        rows.iter().flatten().enumerate().map(|(at, name)| (*name, at)).collect();
    let mut hosts: Vec<_> = topology
        .hosts
        .iter()
        .map(|(name, host)| (order.get(host.attachment.switch.as_str()), host.attachment.port, name.as_str()))
        .collect();
    hosts.sort();
    rows.push(hosts.into_iter().map(|(.., name)| name).collect());
    rows.retain(|row| !row.is_empty());
    rows
}

/// `leaf2` before `leaf10`.
fn natural(name: &str) -> (&str, u64, &str) {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (&name[..digits], name[digits..].parse().unwrap_or(0), name)
}

fn links(topology: &Topology, places: &BTreeMap<&str, (f64, f64)>, small: bool, text: &mut String) {
    let mut labels = String::new();
    for link in &topology.links {
        let [(from, from_port), (to, to_port)] = [end(&link.ends[0]), end(&link.ends[1])];
        let (Some(a), Some(b)) = (places.get(from), places.get(to)) else { continue };
        // From edge to edge: to the middle, a line to the end of a row would cross the nodes before it.
        let edge = |y: f64, other: f64| {
            y + (NODE_HEIGHT / 2.0)
                * if other > y {
                    1.0
                } else if other < y {
                    -1.0
                } else {
                    0.0
                }
        };
        let (a, b) = ((a.0, edge(a.1, b.1)), (b.0, edge(b.1, a.1)));
        let ports: Vec<String> = [from_port, to_port].iter().flatten().map(u16::to_string).collect();
        let _ = writeln!(
            text,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#9aa5b1\" stroke-width=\"{}\">\
             <title>{from} - {to}, {}</title></line>",
            a.0,
            a.1,
            b.0,
            b.1,
            if from_port.is_some() && to_port.is_some() { "2.5" } else { "1.2" },
            label(link)
        );
        if small {
            continue;
        }
        // Nearer to the end that has fewer neighbours, so that the labels of a fan stand apart.
        let (x, y) = (a.0 + (b.0 - a.0) * 0.62, a.1 + (b.1 - a.1) * 0.62);
        let (x, y) =
            if from_port.is_some() { (x, y) } else { (b.0 + (a.0 - b.0) * 0.62, b.1 + (a.1 - b.1) * 0.62) };
        let _ = writeln!(
            labels,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"9\" fill=\"#52606d\" stroke=\"#ffffff\" \
             stroke-width=\"3\" paint-order=\"stroke\">{} ({})</text>",
            label(link),
            ports.join("-")
        );
    }
    text.push_str(&labels);
}

fn node(topology: &Topology, name: &str, (x, y): (f64, f64), width: f64, small: bool, text: &mut String) {
    let switch = topology.switches.get(name);
    let address =
        switch.map(|switch| switch.address).or_else(|| topology.hosts.get(name).map(|host| host.address));
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    let (fill, stroke, radius) =
        if switch.is_some() { ("#d9e8f6", "#2b6cb0", 3) } else { ("#f5f7fa", "#7b8794", 16) };
    let _ = writeln!(
        text,
        "<g><title>{0} {address}</title><rect x=\"{1:.1}\" y=\"{2:.1}\" width=\"{width}\" height=\"{NODE_HEIGHT}\" \
         rx=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
        escaped(name),
        x - width / 2.0,
        y - NODE_HEIGHT / 2.0
    );
    let line = |dy: f64, size: u8, color: &str, what: &str| {
        format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{size}\" fill=\"{color}\">{}</text>\n",
            y + dy,
            escaped(what)
        )
    };
    if small {
        text.push_str(&line(4.0, 9, "#1f2933", name));
    } else {
        text.push_str(&line(-2.0, 11, "#1f2933", name));
        text.push_str(&line(11.0, 9, "#52606d", &address));
    }
    text.push_str("</g>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
