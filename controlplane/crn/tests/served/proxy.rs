//! A wire between a controller and a switch that can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes connections on to a server as long as this lives.
pub struct Proxy {
    /// Where it listens.
    pub address: String,
    live: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A wire to the server at `to`. With `cut_after`, the first connection breaks when so many octets have gone to the
    /// server, in the middle of whatever they are.
    pub fn new(to: &str, cut_after: Option<usize>) -> Proxy {
        Proxy::start(to, cut_after, usize::MAX)
    }

    /// As [`Proxy::new`], but nobody listens any more once the first connection is there.
    pub fn dying(to: &str, cut_after: usize) -> Proxy {
        Proxy::start(to, Some(cut_after), 1)
    }

    fn start(to: &str, cut_after: Option<usize>, connections: usize) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let live = Arc::new(Mutex::new(Vec::new()));
        let (to, kept) = (to.to_owned(), Arc::clone(&live));
        // It ends with the test's process.
        thread::spawn(move || {
            let mut limit = cut_after;
            for client in listener.incoming().map_while(Result::ok).take(connections) {
                let Ok(server) = TcpStream::connect(&to) else { continue };
                let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                kept.lock().unwrap().extend(ends);
                let (from, into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let most = limit.take().unwrap_or(usize::MAX);
                thread::spawn(move || pass(from, into, most));
                thread::spawn(move || pass(server, client, usize::MAX));
            }
        });
        Proxy { address, live }
    }

    /// Breaks all connections; new ones are passed on.
    pub fn cut(&self) {
        for stream in self.live.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut into: TcpStream, most: usize) {
    let mut buffer = [0; 1024];
    let mut passed = 0;
    while let Ok(octets) = from.read(&mut buffer)
        && octets > 0
        && passed < most
        && into.write_all(&buffer[..octets]).is_ok()
    {
        passed += octets;
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = into.shutdown(Shutdown::Both);
}
