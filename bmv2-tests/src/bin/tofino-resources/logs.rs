//! The compiler's logs, as far as the summary needs them (`resources_schema.py` 2.4, `phv_schema.py` 3.0 of p4c).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::summary::{ParserUse, Share, Summary};

#[derive(Deserialize)]
struct ResourcesFile {
    compiler_version: String,
    resources: Resources,
}

#[derive(Deserialize)]
struct Resources {
    parser: Parsers,
    mau: Mau,
    phv_containers: BTreeMap<String, Vec<ContainerType>>,
}

#[derive(Deserialize)]
struct Parsers {
    parsers: Vec<OneParser>,
}

#[derive(Deserialize)]
struct OneParser {
    gress: String,
    #[serde(rename = "nStates")]
    rows: usize,
    states: Vec<Transition>,
}

#[derive(Deserialize)]
struct Transition {
    previous_state_id: i64,
    next_state_id: i64,
    shifts: usize,
}

#[derive(Deserialize)]
struct Mau {
    #[serde(rename = "nStages")]
    stages: usize,
    mau_stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    rams: Rams,
    map_rams: MapRams,
    tcams: Tcams,
    gateways: Gateways,
    meter_alus: MeterAlus,
    statistic_alus: StatisticAlus,
    logical_tables: LogicalTables,
}

#[derive(Deserialize)]
struct Rams {
    #[serde(rename = "nRows")]
    rows: usize,
    #[serde(rename = "nColumns")]
    columns: usize,
    srams: Vec<Unit>,
}

#[derive(Deserialize)]
struct MapRams {
    #[serde(rename = "nRows")]
    rows: usize,
    #[serde(rename = "nUnits")]
    units: usize,
    maprams: Vec<Unit>,
}

#[derive(Deserialize)]
struct Tcams {
    #[serde(rename = "nRows")]
    rows: usize,
    #[serde(rename = "nColumns")]
    columns: usize,
    #[serde(rename = "tcams")]
    blocks: Vec<Unit>,
}

#[derive(Deserialize)]
struct Gateways {
    #[serde(rename = "nRows")]
    rows: usize,
    #[serde(rename = "nUnits")]
    units: usize,
    #[serde(rename = "gateways")]
    used: Vec<Unit>,
}

#[derive(Deserialize)]
struct MeterAlus {
    #[serde(rename = "nAlus")]
    alus: usize,
    meters: Vec<Unit>,
}

#[derive(Deserialize)]
struct StatisticAlus {
    #[serde(rename = "nAlus")]
    alus: usize,
    stats: Vec<Unit>,
}

#[derive(Deserialize)]
struct LogicalTables {
    size: usize,
    ids: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Unit {
    usages: Vec<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    used_by: String,
    used_for: String,
}

#[derive(Deserialize)]
struct ContainerType {
    width: usize,
    units: usize,
}

#[derive(Deserialize)]
struct PhvFile {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    bit_width: usize,
    container_type: String,
}

/// The summary of the logs in a folder.
///
/// # Errors
/// A log is missing or isn't what the compiler writes; the message names it.
pub fn read(folder: &Path) -> Result<Summary, String> {
    let resources: ResourcesFile = json(&folder.join("resources.json"))?;
    let phv: PhvFile = json(&folder.join("phv.json"))?;
    let tables = folder.join("table_summary.log");
    let stages_of = stages_of(&text(&tables)?).map_err(|error| format!("{}: {error}", tables.display()))?;
    let mut summary =
        Summary { compiler: resources.compiler_version.clone(), stages_of, ..Summary::default() };
    summary.stages = resources.resources.mau.stages;
    for stage in &resources.resources.mau.mau_stages {
        add_stage(&mut summary, stage);
    }
    for (kind, types) in &resources.resources.phv_containers {
        for each in types {
            summary.phv.entry((kind.clone(), each.width)).or_default().of += each.units;
        }
    }
    for container in &phv.containers {
        summary.phv.entry((container.container_type.clone(), container.bit_width)).or_default().used += 1;
    }
    for parser in &resources.resources.parser.parsers {
        let (depth, octets) = longest_way(&parser.states);
        let rows = Share { used: parser.states.len(), of: parser.rows };
        summary.parsers.insert(parser.gress.clone(), ParserUse { rows, depth, octets });
    }
    Ok(summary)
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("{}: {error}: the compiler writes it with `-g --verbose 2`", path.display()))
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    serde_json::from_str(&text(path)?).map_err(|error| {
        format!("{}: {error}: another version of the compiler may write another form", path.display())
    })
}

fn add(share: &mut Share, used: usize, of: usize) {
    share.used += used;
    share.of += of;
}

fn used(units: &[Unit]) -> usize {
    units.iter().filter(|unit| !unit.usages.is_empty()).count()
}

fn add_stage(summary: &mut Summary, stage: &Stage) {
    let Stage { rams, map_rams, tcams, gateways, meter_alus, statistic_alus, logical_tables } = stage;
    add(&mut summary.sram, used(&rams.srams), rams.rows * rams.columns);
    add(&mut summary.map_ram, used(&map_rams.maprams), map_rams.rows * map_rams.units);
    add(&mut summary.tcam, used(&tcams.blocks), tcams.rows * tcams.columns);
    add(&mut summary.gateways, used(&gateways.used), gateways.rows * gateways.units);
    add(&mut summary.meter_alus, used(&meter_alus.meters), meter_alus.alus);
    add(&mut summary.statistics_alus, used(&statistic_alus.stats), statistic_alus.alus);
    add(&mut summary.logical_tables, logical_tables.ids.len(), logical_tables.size);
    let is_state = |usage: &Usage| {
        matches!(
            usage.used_for.as_str(),
            "stateful_ram" | "statistics_ram" | "meter_ram" | "meter_lpf" | "meter_wred"
        )
    };
    summary.state_blocks += rams.srams.iter().filter(|unit| unit.usages.iter().any(is_state)).count();
    for unit in &tcams.blocks {
        let tables: BTreeSet<&str> = unit.usages.iter().map(|usage| usage.used_by.as_str()).collect();
        for table in tables {
            *summary.tcam_of.entry(table.to_owned()).or_default() += 1;
        }
    }
}

/// By gress the number of stages up to the last one with a table. The log has a table for each time that tables were placed;
/// the last one counts.
fn stages_of(log: &str) -> Result<BTreeMap<char, usize>, String> {
    let mut stages = BTreeMap::new();
    let mut columns: Option<(usize, usize)> = None;
    for line in log.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let column = |name| cells.iter().position(|cell| *cell == name);
        if let (Some(stage), Some(gress)) = (column("Stage"), column("Gress")) {
            columns = Some((stage, gress));
            stages.clear();
        } else if let Some((stage, gress)) = columns {
            let stage = cells.get(stage).and_then(|cell| cell.parse::<usize>().ok());
            let gress = cells.get(gress).and_then(|cell| cell.chars().next());
            if let (Some(stage), Some(gress)) = (stage, gress) {
                let last = stages.entry(gress).or_insert(0);
                *last = (*last).max(stage + 1);
            }
        }
    }
    if stages.is_empty() {
        Err("it has no table with the columns Stage and Gress".to_owned())
    } else {
        Ok(stages)
    }
}

/// States and octets of the longest way. A loop, which a parser with counters may have, is gone through once.
fn longest_way(transitions: &[Transition]) -> (usize, usize) {
    let mut from: BTreeMap<i64, Vec<(i64, usize)>> = BTreeMap::new();
    for transition in transitions {
        from.entry(transition.previous_state_id)
            .or_default()
            .push((transition.next_state_id, transition.shifts));
    }
    let reached: BTreeSet<i64> = transitions.iter().map(|transition| transition.next_state_id).collect();
    let starts = from.keys().copied().filter(|state| !reached.contains(state)).collect::<Vec<_>>();
    let mut done = BTreeMap::new();
    let ways = starts.into_iter().map(|start| way(start, &from, &mut BTreeSet::new(), &mut done));
    ways.fold((0, 0), |best, each| (best.0.max(each.0), best.1.max(each.1)))
}

fn way(
    state: i64,
    from: &BTreeMap<i64, Vec<(i64, usize)>>,
    open: &mut BTreeSet<i64>,
    done: &mut BTreeMap<i64, (usize, usize)>,
) -> (usize, usize) {
    if let Some(known) = done.get(&state) {
        return *known;
    }
    if !open.insert(state) {
        return (0, 0);
    }
    let mut best = (0, 0);
    for (next, shifts) in from.get(&state).into_iter().flatten() {
        let (depth, octets) = way(*next, from, open, done);
        best = (best.0.max(depth + 1), best.1.max(octets + shifts));
    }
    open.remove(&state);
    done.insert(state, best);
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `TablePrinter` of the compiler writes it, twice.
    const LOG: &str = "\
Table allocation done 1 time(s), state = INITIAL
+-------+------------+-------+------------------+
| Stage | Logical ID | Gress |       Name       |
+-------+------------+-------+------------------+
|   0   |     0      |   I   |     reporter     |
|  11   |     4      |   E   |  queue_profile   |
+-------+------------+-------+------------------+
Table allocation done 2 time(s), state = FINAL_PLACEMENT
+-------+------------+-------+------------------+
| Stage | Logical ID | Gress |       Name       |
+-------+------------+-------+------------------+
|   0   |     0      |   I   |     reporter     |
+-------+------------+-------+------------------+
|   3   |     48     |   I   |    ipv4_route    |
|   5   |     80     |   E   | Trigger.verdict  |
+-------+------------+-------+------------------+
";

    #[test]
    fn the_last_placement_counts() {
        assert_eq!(stages_of(LOG), Ok(BTreeMap::from([('I', 4), ('E', 6)])));
    }

    #[test]
    fn a_log_without_the_table_is_refused() {
        stages_of("Table allocation failed\n").unwrap_err();
    }

    #[test]
    fn the_longest_way_is_found_through_branches_and_loops() {
        let transition = |(previous_state_id, next_state_id, shifts)| Transition {
            previous_state_id,
            next_state_id,
            shifts,
        };
        let all: Vec<Transition> =
            [(0, 1, 14), (1, 2, 4), (1, 3, 20), (2, 3, 20), (3, 3, 8), (3, 4, 8)].map(transition).into();
        // 0, 1, 2, 3 (once more by its loop), 4.
        assert_eq!(longest_way(&all), (4, 46));
    }

    /// A stage of Tofino 1 with a register, a counter, a ternary table of two blocks, of which two tables share one.
    #[test]
    fn blocks_are_counted_by_what_they_are_for() {
        let unit = |usages: &[(&str, &str)]| {
            let usages = usages
                .iter()
                .map(|(used_by, used_for)| serde_json::json!({ "used_by": used_by, "used_for": used_for }));
            serde_json::json!({ "row": 0, "column": 0, "usages": usages.collect::<Vec<_>>() })
        };
        let stage = serde_json::json!({
            "rams": { "nRows": 8, "nColumns": 10, "srams": [
                unit(&[("last_report", "stateful_ram")]), unit(&[("drops", "statistics_ram")]),
                unit(&[("dscp_map", "match_entry_ram")]), unit(&[]) ] },
            "map_rams": { "nRows": 8, "nUnits": 6, "maprams": [unit(&[("drops", "statistics_ram")])] },
            "tcams": { "nRows": 12, "nColumns": 2, "tcams": [
                unit(&[("acl", "ternary_match")]), unit(&[("acl", "ternary_match"), ("judge", "ternary_match")]) ] },
            "gateways": { "nRows": 8, "nUnits": 2, "gateways": [] },
            "meter_alus": { "nAlus": 4, "meters": [unit(&[("last_report", "stateful_ram")])] },
            "statistic_alus": { "nAlus": 4, "stats": [] },
            "logical_tables": { "size": 16, "ids": [{ "id": 0, "table_name": "acl" }] },
        });
        let mut summary = Summary::default();
        add_stage(&mut summary, &serde_json::from_value(stage).unwrap());
        assert_eq!(summary.sram, Share { used: 3, of: 80 });
        assert_eq!(summary.state_blocks, 2);
        assert_eq!(summary.tcam, Share { used: 2, of: 24 });
        assert_eq!(summary.tcam_of, BTreeMap::from([("acl".to_owned(), 2), ("judge".to_owned(), 1)]));
        assert_eq!(summary.meter_alus, Share { used: 1, of: 4 });
        assert_eq!(summary.logical_tables.used, 1);
    }
}
