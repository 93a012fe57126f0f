//! Random packets: what BMv2 did with them, softswitch does too. Replayed from recordings; where BMv2 is installed, some of
//! them run on it again. `cargo run -p bmv2-tests --bin differential` runs more.

use std::process::ExitCode;

use bmv2_tests::bmv2::Bmv2;
use bmv2_tests::differential::live;
use bmv2_tests::differential::plan::{self, Load, Plan};
use bmv2_tests::differential::recording::{HOW_TO_RECORD, Recording, path};
use bmv2_tests::target::{Presence, Target as _};
use libtest_mimic::{Arguments, Failed, Trial};
use softswitch::Engine;

/// Rounds that are run on BMv2 again: single packets, and bursts, which take their time.
const LIVE_ROUNDS: [usize; 2] = [500, 20];
/// Not the seed of the recordings.
const LIVE_SEED: u64 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    match plan::own() {
        Ok(plans) => plans.into_iter().for_each(|plan| {
            trials.push(live(&plan));
            trials.extend(replays(&plan));
        }),
        Err(error) => trials.push(Trial::test("crn", move || Err(error.to_string().into()))),
    }
    match plan::samples() {
        Ok(plans) if plans.is_empty() => {
            let absent = Trial::test("[../shared/conformance ABSENT] p4c's samples", || Ok(()));
            trials.push(absent.with_ignored_flag(true));
        }
        Ok(plans) => trials.extend(plans.iter().flat_map(replays)),
        Err(error) => trials.push(Trial::test("samples", move || Err(error.to_string().into()))),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn replays(plan: &Plan) -> [Trial; 2] {
    [(Engine::Interpreter, "random packets"), (Engine::Native, "random packets, native")]
        .map(|(engine, kind)| replay(plan.clone(), engine).with_kind(kind))
}

fn replay(plan: Plan, engine: Engine) -> Trial {
    let name = plan.name.clone();
    let check = move || -> Result<(), Failed> {
        let path = path(&plan.name);
        if !path.is_file() {
            return Err(
                format!("no recording yet; as root, with BMv2: `{HOW_TO_RECORD} {}`", plan.name).into()
            );
        }
        let recording = Recording::load(&path)?;
        said(&recording.target, &recording.differences(&plan, engine)?)
    };
    Trial::test(name, check)
}

fn live(plan: &Plan) -> Trial {
    let presence = Bmv2.presence();
    let absent = matches!(presence, Presence::Absent { .. });
    let name = if absent { format!("[{} ABSENT] {}", Bmv2.name(), plan.name) } else { plan.name.clone() };
    let plan = plan.clone();
    let rounds = LIVE_ROUNDS[usize::from(plan.load != Load::Single)];
    let check = move || said(Bmv2.name(), &live::compare(&plan, LIVE_SEED, rounds)?.differences);
    Trial::test(name, check).with_kind("random packets on BMv2").with_ignored_flag(absent)
}

fn said(target: &str, differences: &[String]) -> Result<(), Failed> {
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("softswitch differs from {target}:\n  {}", differences.join("\n  ")).into())
}
