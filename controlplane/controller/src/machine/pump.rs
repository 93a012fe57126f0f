//! Joins the machine with its clients.

use std::collections::BTreeMap;

use wire::units::Nanos;

use super::Controller;
use crate::client::{Event, RequestError, SwitchClient};

/// Hands the machine's requests to the clients and their events to the machine, until neither has anything at
/// this time. A request for a switch without a client fails at once.
pub fn pump<C: SwitchClient>(controller: &mut Controller, clients: &mut BTreeMap<String, C>, now: Nanos) {
    loop {
        let mut quiet = true;
        while let Some((switch, id, request)) = controller.poll_request() {
            quiet = false;
            match clients.get_mut(&switch) {
                Some(client) => client.submit(id, request, now),
                None => {
                    let error = RequestError::Unreachable("no connection to this switch".to_owned());
                    controller.handle_event(&switch, Event::Reply { id, result: Err(error) }, now);
                }
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
