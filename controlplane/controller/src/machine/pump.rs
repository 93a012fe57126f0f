//! Joins the machine with its clients.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use wire::units::Nanos;

use super::Controller;
use crate::client::{Event, GrpcClient, RequestError, SwitchClient};

/// Hands the machine's requests to the clients and their events to the machine, until neither has anything at
/// this time. A request for a switch without a client fails at once.
pub fn pump<C: SwitchClient>(controller: &mut Controller, clients: &mut BTreeMap<String, C>, now: Nanos) {
    loop {
        let mut quiet = true;
        while let Some((switch, id, request)) = controller.poll_request() {
            quiet = false;
            if let Some(client) = clients.get_mut(&switch) {
                client.submit(id, request, now);
            } else {
                let error = RequestError::Unreachable("no connection to this switch".to_owned());
                controller.handle_event(&switch, Event::Reply { id, result: Err(error) }, now);
            }
        }
        for (switch, client) in clients.iter_mut() {
            while let Some(event) = client.poll(now) {
                quiet = false;
                controller.handle_event(switch, event, now);
            }
        }
        if quiet {
            return;
        }
    }
}

/// Runs a controller over gRPC until it is settled: every switch is ready, backup or failed. `now` gives the
/// time, from an origin of the caller's choice.
pub async fn settle(
    controller: &mut Controller,
    clients: &mut BTreeMap<String, GrpcClient>,
    now: impl Fn() -> Nanos,
) {
    loop {
        pump(controller, clients, now());
        if controller.settled() {
            return;
        }
        let (switch, event) = next_event(clients).await;
        controller.handle_event(&switch, event, now());
    }
}

/// The next event of any client, and the switch it is from; waits for it. Without clients, for ever.
pub async fn next_event(clients: &mut BTreeMap<String, GrpcClient>) -> (String, Event) {
    poll_fn(|context| {
        for (switch, client) in clients.iter_mut() {
            if let Poll::Ready(event) = client.poll_event(context) {
                let event = event.unwrap_or_else(|| Event::Closed("its task has ended".to_owned()));
                return Poll::Ready((switch.clone(), event));
            }
        }
        Poll::Pending
    })
    .await
}
