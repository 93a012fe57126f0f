//! The recordings of the real switch against softswitch: frames octet for octet per port in order, counters in packets
//! and octets. Fails when a recording is out of date, and says how to make it again.

use std::process::ExitCode;

use bmv2_tests::cases;
use bmv2_tests::program::Program;
use bmv2_tests::recording::{self, HOW_TO_RECORD, Recording};
use bmv2_tests::soft::Soft;
use bmv2_tests::target::{Target as _, judge};
use libtest_mimic::{Arguments, Failed, Trial};
use softswitch::Engine;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = recording::folder();
    let recorded = recording::names(&folder).unwrap_or_default();
    let mut names = recorded.clone();
    names.extend(cases::all().into_iter().map(|case| case.name).filter(|name| !recorded.contains(name)));
    let engines = [Engine::Interpreter, Engine::Native];
    let all = names.into_iter().flat_map(|name| engines.map(|engine| (name.clone(), engine)));
    let trials = all
        .map(|(name, engine)| {
            let target = Soft { engine, ..Soft::default() };
            let kind = format!("replay on {}", target.name());
            Trial::test(name.clone(), move || replay(&target, &name)).with_kind(kind)
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn replay(target: &Soft, name: &str) -> Result<(), Failed> {
    let folder = recording::folder();
    if !recording::names(&folder).is_ok_and(|names| names.iter().any(|recorded| recorded == name)) {
        return Err(format!("the case `{name}` has no recording yet: `{HOW_TO_RECORD} {name}`").into());
    }
    let recording = Recording::load(&folder, name)?;
    let program = Program::load()?;
    let case = cases::all().into_iter().find(|case| case.name == name);
    if let Some(why) = recording.stale(case.as_ref(), &program) {
        return Err(why.into());
    }
    let replayed = target.run(&recording.to_case());
    judge(&replayed, |observed| recording.differences(observed))
        .map_err(|wrong| format!("softswitch differs from {}:\n  {wrong}", recording.origin()).into())
}
