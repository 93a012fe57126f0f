//! Every case on every target that is present. A target that isn't there is listed with its cases as absent.

use std::process::ExitCode;
use std::sync::Arc;

use bmv2_tests::bmv2::Bmv2;
use bmv2_tests::case::Case;
use bmv2_tests::cases;
use bmv2_tests::soft::Soft;
use bmv2_tests::target::{Presence, Target, judge};
use libtest_mimic::{Arguments, Failed, Trial};
use softswitch::Engine;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let native = Soft { engine: Engine::Native, ..Soft::default() };
    let targets: [Arc<dyn Target + Send + Sync>; 3] =
        [Arc::new(Soft::default()), Arc::new(native), Arc::new(Bmv2)];
    let mut trials = Vec::new();
    let mut absent = Vec::new();
    for target in targets {
        let presence = target.presence();
        let cases = cases::all();
        if let Presence::Absent { reason } = &presence {
            absent.push(format!(
                "target {}: ABSENT ({reason}); its {} cases were not run",
                target.name(),
                cases.len()
            ));
        }
        for case in cases {
            let here = matches!(presence, Presence::Present { .. });
            let kind = if here { target.name().to_owned() } else { format!("{} ABSENT", target.name()) };
            let target = Arc::clone(&target);
            let name = case.name.clone();
            // Shown as ignored, never as passed.
            let trial = Trial::test(name, move || run(target.as_ref(), &case));
            trials.push(trial.with_kind(kind).with_ignored_flag(!here));
        }
        if let Presence::Present { version } = presence {
            println!("target {}: present ({version})", target.name());
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    for line in absent {
        println!("{line}");
    }
    conclusion.exit_code()
}

fn run(target: &dyn Target, case: &Case) -> Result<(), Failed> {
    judge(&target.run(case), |observed| case.differences(observed))
        .map_err(|wrong| format!("{}\n  {wrong}", case.rule).into())
}
