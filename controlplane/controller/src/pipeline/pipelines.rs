//! Which switch runs which program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::tofino::Compiled;
use super::{Pipeline, PipelineError};
use crate::topology::{
    DeviceFiles, Origin, P4RuntimeServer, PipelineFiles, Problem, Switch, Target, Topology,
};

/// The programs of a topology's switches.
#[derive(Clone, Debug)]
pub struct Pipelines {
    common: Arc<Pipeline>,
    own: BTreeMap<String, Arc<Pipeline>>,
}

/// All switches run the same.
impl From<Arc<Pipeline>> for Pipelines {
    fn from(common: Arc<Pipeline>) -> Self {
        Self { common, own: BTreeMap::new() }
    }
}

impl Pipelines {
    /// The program that this build carries, and those of `pipeline` keys, read from their files.
    ///
    /// # Errors
    /// Files that can't be read or hold no program, each at its switch.
    pub fn load(topology: &Topology) -> Result<Self, Vec<Problem>> {
        let broken = |error: PipelineError| {
            let problem = Problem::error("topology::pipeline", format!("the program of this build: {error}"));
            vec![problem.hint("a fault of the build: build `crn` anew")]
        };
        let mut programs = Self::from(Arc::new(Pipeline::v1model().map_err(broken)?));
        let mut read: BTreeMap<(&PipelineFiles, bool), Arc<Pipeline>> = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, switch) in &topology.switches {
            let Some(files) = &switch.pipeline else { continue };
            let server = switch.tofino.as_ref().map(|tofino| tofino.server).unwrap_or_default();
            let key = (files, server == P4RuntimeServer::Stratum);
            let found = match read.get(&key) {
                Some(known) => Ok(Arc::clone(known)),
                None => Pipeline::read(files, server).map(Arc::new),
            };
            match found {
                Ok(pipeline) => {
                    read.insert(key, Arc::clone(&pipeline));
                    programs.own.insert(name.clone(), pipeline);
                }
                Err(message) => {
                    let origin = Origin::Switch(name.clone());
                    let hint = "files of `pipeline` are looked for beside the topology file";
                    let message = format!("the program of `{name}`: {message}");
                    problems.push(topology.problem("topology::pipeline", &message, &origin, hint));
                }
            }
        }
        if problems.is_empty() { Ok(programs) } else { Err(problems) }
    }

    /// Checks the switches' own programs with what the caller knows of their target, each program once.
    ///
    /// # Errors
    /// What `accept` says, at the first switch that has the program.
    pub fn check(
        &self,
        topology: &Topology,
        accept: impl Fn(&Pipeline) -> Result<(), String>,
    ) -> Result<(), Vec<Problem>> {
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let own = self.own.iter().filter(|(_, pipeline)| seen.insert(pipeline.cookie));
        let refused = own.filter_map(|(name, pipeline)| {
            let error = accept(pipeline).err()?;
            let message = format!("the program of `{name}`: {error}");
            let hint = "name a program that this target runs, or leave `pipeline` out";
            Some(topology.problem("topology::pipeline", &message, &Origin::Switch(name.clone()), hint))
        });
        let problems: Vec<Problem> = refused.collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// As [`Pipelines::load`], for reaching those switches that `reached` says.
    ///
    /// # Errors
    /// As [`Pipelines::load`], and a Tofino without a `pipeline` among them: this build carries no program for it, since
    /// the compiler's output isn't committed, and another target's would be pushed into it.
    pub fn load_for(topology: &Topology, reached: impl Fn(&str) -> bool) -> Result<Self, Vec<Problem>> {
        let is_refused = |(name, switch): &(&String, &Switch)| {
            switch.target == Target::Tofino && switch.pipeline.is_none() && reached(name)
        };
        let tofinos = topology.switches.iter().filter(is_refused);
        let refuse = |(name, _): (&String, _)| {
            topology.problem(
                "topology::tofino",
                &format!("there is no program for the Tofino `{name}` in this build"),
                &Origin::Switch(name.clone()),
                "give it a `pipeline` with the compiler's files (docs/tofino.md), or leave it out with `--target-only`",
            )
        };
        let refused: Vec<Problem> = tofinos.map(refuse).collect();
        if refused.is_empty() { Self::load(topology) } else { Err(refused) }
    }

    /// A warning at the first Tofino that has no program in this build: the file is good, but nothing can be planned for it yet.
    pub fn missing(topology: &Topology) -> Option<Problem> {
        let lacks =
            |(_, switch): &(&String, &Switch)| switch.target == Target::Tofino && switch.pipeline.is_none();
        let mut lacking = topology.switches.iter().filter(lacks).map(|(name, _)| name);
        let name = lacking.next()?;
        let more = match lacking.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "there is no program for the Tofino `{name}`{more} in this build: `plan` and `apply` will refuse it"
        );
        let hint = "give it a `pipeline` with the compiler's files (docs/tofino.md)";
        let mut problem = topology.problem("topology::tofino", &message, &Origin::Switch(name.clone()), hint);
        problem.warning = true;
        Some(problem)
    }

    /// A switch's program.
    pub fn of(&self, switch: &str) -> &Arc<Pipeline> {
        self.own.get(switch).unwrap_or(&self.common)
    }
}

impl Pipeline {
    /// A program from its files, packed as the server wants it.
    fn read(files: &PipelineFiles, server: P4RuntimeServer) -> Result<Self, String> {
        let octets = |path: &std::path::Path| {
            crate::files::read(path, crate::files::PROGRAM_LIMIT)
                .map_err(|error| format!("{} can't be read: {error}", path.display()))
        };
        let p4info = String::from_utf8(octets(&files.p4info)?).map_err(|_| {
            format!("{} isn't UTF-8: P4Info in text format is wanted", files.p4info.display())
        })?;
        let device = match &files.device {
            DeviceFiles::Json(json) => octets(json)?,
            DeviceFiles::Tofino { binary, context, bfrt } => {
                let bfrt = bfrt.as_deref().map(octets).transpose()?;
                let compiled = Compiled { binary: octets(binary)?, context: octets(context)?, bfrt };
                match server {
                    P4RuntimeServer::Stratum => compiled.for_stratum(),
                    P4RuntimeServer::P4Studio => {
                        compiled.for_p4_studio().map_err(|error| error.to_string())?
                    }
                }
            }
        };
        Self::new(&p4info, &device).map_err(|error| format!("{}: {error}", files.p4info.display()))
    }
}
