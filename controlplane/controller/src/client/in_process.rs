//! A switch in the same process, in virtual time: a request submitted at t is served at t + d and answered at
//! t + 2d, so that a simulated controller is as slow as a real one, and every run the same.

mod softswitch;

use std::collections::VecDeque;

use wire::units::Nanos;

use super::{Event, Reply, Request, RequestError, RequestId, SwitchClient};

pub use self::softswitch::{Programs, Session};

/// What serves the requests: the P4Runtime layer of a switch.
pub trait Target {
    /// Does what is asked, at once.
    ///
    /// # Errors
    /// The switch's refusal.
    fn serve(&mut self, session: &mut Session, request: &Request) -> Result<Reply, RequestError>;

    /// The next thing that the switch has sent by itself.
    fn poll_event(&mut self, session: &mut Session) -> Option<Event>;
}

/// A client of a switch in the same process. The switch isn't owned: whoever drives the simulation hands it to
/// [`InProcessClient::serve`] when requests are due.
#[derive(Debug)]
pub struct InProcessClient {
    /// One-way delay between controller and switch.
    delay: Nanos,
    session: Session,
    /// Requests on their way, each with the time at which it arrives, ascending.
    requests: VecDeque<(Nanos, RequestId, Request)>,
    /// Answers on their way back, likewise.
    events: VecDeque<(Nanos, Event)>,
}

impl InProcessClient {
    /// A client of the switch with this device id, whose requests and answers take `delay` each. Clients that
    /// share `programs` compile a program once.
    pub fn new(device_id: u64, delay: Nanos, programs: Programs) -> Self {
        let session = Session::new(device_id, programs);
        Self { delay, session, requests: VecDeque::new(), events: VecDeque::new() }
    }

    /// When the next request reaches the switch.
    pub fn next_service(&self) -> Option<Nanos> {
        self.requests.front().map(|(due, ..)| *due)
    }

    /// Lets the switch serve all requests that have reached it by now. To be called at
    /// [`InProcessClient::next_service`]: what is served late is answered late.
    pub fn serve(&mut self, target: &mut impl Target, now: Nanos) {
        while self.requests.front().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, id, request)) = self.requests.pop_front() else { return };
            let result = target.serve(&mut self.session, &request);
            self.events.push_back((now + self.delay, Event::Reply { id, result }));
        }
        self.listen(target, now);
    }

    /// Takes what the switch has sent by itself: packets for the controller, digests, a change of primaryship.
    /// To be called after the switch's own `advance`.
    pub fn listen(&mut self, target: &mut impl Target, now: Nanos) {
        while let Some(event) = target.poll_event(&mut self.session) {
            self.events.push_back((now + self.delay, event));
        }
    }
}

impl SwitchClient for InProcessClient {
    fn submit(&mut self, id: RequestId, request: Request, now: Nanos) {
        self.requests.push_back((now + self.delay, id, request));
    }

    fn poll(&mut self, now: Nanos) -> Option<Event> {
        let due = self.events.front().is_some_and(|(due, _)| *due <= now);
        if due { self.events.pop_front().map(|(_, event)| event) } else { None }
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.events.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it has served.
    struct Counting(u64);

    impl Target for Counting {
        fn serve(&mut self, _: &mut Session, _: &Request) -> Result<Reply, RequestError> {
            self.0 += 1;
            Ok(Reply::Cookie(Some(self.0)))
        }

        fn poll_event(&mut self, _: &mut Session) -> Option<Event> {
            None
        }
    }

    #[test]
    fn a_request_at_t_is_served_at_t_plus_d_and_answered_at_t_plus_2d() {
        let mut client = InProcessClient::new(1, Nanos(100), Programs::default());
        let mut switch = Counting(0);
        client.submit(RequestId(1), Request::GetCookie, Nanos(1000));
        client.submit(RequestId(2), Request::GetCookie, Nanos(1000));
        assert_eq!(client.next_service(), Some(Nanos(1100)));
        client.serve(&mut switch, Nanos(1099));
        assert_eq!(switch.0, 0, "a nanosecond before");
        client.serve(&mut switch, Nanos(1100));
        assert_eq!((switch.0, client.next_service()), (2, None));
        assert_eq!(client.poll_timeout(), Some(Nanos(1200)));
        assert_eq!(client.poll(Nanos(1199)), None);
        let reply = |id, cookie| Event::Reply { id: RequestId(id), result: Ok(Reply::Cookie(Some(cookie))) };
        assert_eq!(client.poll(Nanos(1200)), Some(reply(1, 1)), "in the order of submission");
        assert_eq!(client.poll(Nanos(1200)), Some(reply(2, 2)));
        assert_eq!(client.poll(Nanos(1200)), None);
    }
}
