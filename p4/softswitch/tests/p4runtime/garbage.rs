//! Whatever comes in at the socket, the switch forwards and answers those who speak P4Runtime.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use p4runtime::p4::v1::{TableEntry, entity::Entity as Kind, update::Type};
use prost::bytes::BufMut;
use softswitch::Packet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};

use crate::grpc::{Served, ready, serve};
use crate::support::{dscp, entity, update};

/// How HTTP/2 starts.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Octets in no order, the same at every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn octets(&mut self, most: usize) -> Vec<u8> {
        let n = usize::try_from(self.next()).unwrap() % most;
        (0..n).map(|_| self.next().to_be_bytes()[3]).collect()
    }
}

/// Messages that are octets.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, octets: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&octets);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(Some(()))
    }
}

/// What a call with these octets as its message comes to.
async fn call(served: &Served, method: &'static str, octets: Vec<u8>) -> Result<(), Status> {
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", served.address)).unwrap();
    let mut client = tonic::client::Grpc::new(endpoint.connect().await.unwrap());
    client.ready().await.unwrap();
    let path = PathAndQuery::from_static(method);
    client.unary(Request::new(octets), path, Raw).await.map(drop)
}

/// Sends octets to the socket and takes what comes until the other side has enough, or for a moment.
async fn throw(served: &Served, octets: &[u8]) {
    let mut stream = TcpStream::connect(&served.address).await.unwrap();
    // It may have closed already.
    let _ = stream.write_all(octets).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_at_the_socket_stops_neither_packets_nor_controllers() {
    let served = serve().await;
    let mut client = ready(&served).await;
    let (stop, passed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut now_ns = 0;
            while !stop.load(Ordering::Relaxed) {
                now_ns += 1000;
                let mut runtime = served.server.runtime();
                let switch = runtime.switch_mut().unwrap();
                switch.ingress(1, Packet::new(vec![0xa5; 60]), now_ns);
                runtime.advance(now_ns);
                drop(runtime);
                served.server.deliver();
                passed.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let throwing = async {
            let mut random = Random(0x5eed);
            for round in 0..60 {
                let before = passed.load(Ordering::Relaxed);
                let octets = random.octets(2000);
                match round % 3 {
                    0 => throw(&served, &octets).await,
                    // Frames of HTTP/2 that are none.
                    1 => throw(&served, &[PREFACE, &octets].concat()).await,
                    _ => {
                        for method in [
                            "/p4.v1.P4Runtime/Write",
                            "/p4.v1.P4Runtime/Read",
                            "/p4.v1.P4Runtime/SetForwardingPipelineConfig",
                            "/p4.v1.P4Runtime/StreamChannel",
                            "/p4.v1.P4Runtime/Nothing",
                        ] {
                            // An empty message is a message: of the others the random ones are none.
                            let message = [&[0xff][..], &octets].concat();
                            let answer = call(&served, method, message).await;
                            assert!(method.ends_with("StreamChannel") || answer.is_err(), "{method}");
                        }
                    }
                }
                if round % 10 == 0 {
                    client.write(vec![update(Type::Insert, Kind::TableEntry(dscp(round, 1)))]).await.unwrap();
                }
                while passed.load(Ordering::Relaxed) == before {
                    tokio::task::yield_now().await;
                }
            }
            let all = client.read(vec![entity(Kind::TableEntry(TableEntry::default()))]).await.unwrap();
            assert_eq!(all.len(), 6);
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(throwing));
        stop.store(true, Ordering::Relaxed);
    });
    let runtime = served.runtime.lock().unwrap();
    assert_eq!(runtime.switch().unwrap().stats().received, passed.load(Ordering::Relaxed));
}
