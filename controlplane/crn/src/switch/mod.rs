//! `crn switch`: the embedded switch as a process of its own, in BMv2's place.
//!
//! Packets have a thread of their own; P4Runtime is served beside it. They share the switch by turns.

mod args;
mod engine;
mod files;
mod links;
mod plane;
mod ports;
mod statistics;
mod tls;
mod values;
mod wire;

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use softswitch::runtime::Runtime;
use softswitch::server::Server;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use args::Args;

use crate::output::{complain, say};
use crate::program::Files as ProgramFiles;
use crate::signals::Signals;
use engine::EngineName;
use plane::{Files, Plane, Remains};
use ports::Port;
use wire::Wires;

/// How long open streams may hold up the end.
const FAREWELL: Duration = Duration::from_millis(200);

/// Runs the command, until SIGINT or SIGTERM.
pub fn run(args: Args) -> Result<()> {
    let args = args.checked()?;
    for option in args.ignored.given() {
        complain!("{option} is without effect here");
    }
    let runtime = Arc::new(Mutex::new(device(&args)?));
    let ports = args
        .interfaces
        .iter()
        .map(|interface| match args.use_files {
            Some(_) => Port::on_files(interface),
            None => Port::on_interface(interface, args.pcap.as_deref()),
        })
        .collect::<Result<Vec<_>>>()?;
    let tls = tls::config(&args)?;

    let began = Instant::now();
    let (wake, woken) = UnixStream::pair().into_diagnostic()?;
    wake.set_nonblocking(true).into_diagnostic()?;
    woken.set_nonblocking(true).into_diagnostic()?;
    let wake = Arc::new(wake);
    let wake = move || {
        // A full pipe wakes as well.
        let _ = (&*wake).write(&[0]);
    };
    let server = Server::with_driver(runtime, move || plane::nanoseconds(began), wake.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let files = args
        .use_files
        .map(|seconds| Files { begin: Duration::from_secs(seconds), exit: args.exit_after_files });
    let wires = Wires::new(ports.iter().map(|port| args.wire(port.number)).collect(), args.device_id);
    let plane = Plane::new(server.clone(), ports, wires, args.cpu_port, began, woken, stop.clone(), files);

    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .into_diagnostic()?;
    let remains = tokio.block_on(async {
        let listener = TcpListener::bind(&args.grpc_server_addr)
            .await
            .into_diagnostic()
            .wrap_err_with(|| format!("P4Runtime can't be served on {}", args.grpc_server_addr))?;
        let mut signals = Signals::listen()?;
        announce(&args, &listener);
        let (ended, moving) = start(plane)?;
        let (farewell, heard) = oneshot::channel::<()>();
        let mut serving = tokio::spawn({
            let server = server.clone();
            async move {
                let until = async { drop(heard.await) };
                match tls {
                    Some(tls) => server.serve_tls(listener, tls, until).await,
                    None => server.serve(listener, until).await,
                }
            }
        });
        if args.use_files.is_none() {
            tokio::spawn(links::watch(server.clone(), args.interfaces.clone()));
        }
        // Whatever ends first ends the others.
        let mut served = None;
        tokio::select! {
            () = signals.next() => {}
            _ = ended => {}
            early = &mut serving => served = Some(early),
        }
        stop.store(true, Ordering::Release);
        wake();
        let _ = farewell.send(());
        let moved = tokio::task::spawn_blocking(move || moving.join())
            .await
            .into_diagnostic()?
            .map_err(|_| miette!("the packet thread panicked"))?;
        // Streams stay open as long as their controllers want: they aren't waited for.
        if served.is_none() {
            served = tokio::time::timeout(FAREWELL, serving).await.ok();
        }
        if let Some(served) = served {
            served.into_diagnostic()?.map_err(|error| miette!("P4Runtime: {error}"))?;
        }
        moved
    });
    tokio.shutdown_timeout(FAREWELL);
    statistics::print(&server, remains?)
}

fn device(args: &Args) -> Result<Runtime> {
    let config = args.config();
    let mut runtime = match &args.program {
        None => Runtime::new(args.device_id, config),
        Some(program) => {
            let files = ProgramFiles::read(program, args.p4info.as_deref())?;
            if !files.has_p4info() {
                complain!(
                    "{}: no P4Info beside it: controllers see none of its tables until they give a program",
                    program.display()
                );
            }
            Runtime::with_pipeline(args.device_id, config, files.pipeline())
                .map_err(|status| miette!("{}: {}", program.display(), status.message))?
        }
    };
    let interpreted = runtime.switch().is_some_and(|switch| !switch.is_native());
    if interpreted && matches!(args.engine, EngineName::Native) {
        complain!("no native code can be made on this machine: the interpreter runs the program");
    }
    for (port, config) in args.ports() {
        runtime.set_port(port, config);
    }
    Ok(runtime)
}

fn announce(args: &Args, listener: &TcpListener) {
    let address = listener.local_addr().map_or_else(|_| args.grpc_server_addr.clone(), |a| a.to_string());
    let security = match (args.grpc_server_ssl, args.grpc_server_with_client_auth) {
        (false, _) => "",
        (true, false) => " over TLS",
        (true, true) => " over TLS, clients with certificates only",
    };
    let program = args.program.as_deref().map_or("none yet".into(), Path::to_string_lossy);
    say!("P4Runtime on {address}{security}, device {}, program {program}", args.device_id);
    for interface in &args.interfaces {
        say!("port {} is {}", interface.port, interface.name);
    }
    let _ = std::io::stdout().flush();
}

type Moving = thread::JoinHandle<Result<Remains>>;

fn start(plane: Plane) -> Result<(oneshot::Receiver<()>, Moving)> {
    let (end, ended) = oneshot::channel::<()>();
    let moving = thread::Builder::new().name("packets".to_owned()).spawn(move || {
        // Dropped when the thread ends, in whichever way.
        let _end = end;
        plane.run()
    });
    Ok((ended, moving.into_diagnostic()?))
}
