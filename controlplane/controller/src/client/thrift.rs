//! Rate and depth of BMv2's queues. P4Runtime has no means for them; BMv2 takes them over Thrift only, of which this is
//! what these two calls need: the binary protocol, one call after the other.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::topology::Queues;

/// How BMv2 names the service whose methods these are; its server holds several.
const SERVICE: &str = "simple_switch";

/// Version and kind of a message: strict binary protocol.
const CALL: u32 = 0x8001_0001;
const REPLY: u32 = 0x8001_0002;

/// Types of a field.
const STOP: u8 = 0;
const I32: u8 = 8;
const I64: u8 = 10;

/// Longest name in an answer, in octets: the names that are asked for are shorter.
const NAME_OCTETS: u32 = 128;

/// Why the queues weren't set.
#[derive(Debug, thiserror::Error)]
pub enum ThriftError {
    /// Nobody answers there, or not in time.
    #[error("can't set the queues over Thrift at {address}: {reason}")]
    Unreachable {
        /// As it was given.
        address: String,
        /// The system's word.
        reason: String,
    },
    /// Something else than BMv2 listens there, or another version of it.
    #[error("what listens at {address} isn't BMv2's Thrift server: {problem}")]
    Protocol {
        /// As it was given.
        address: String,
        /// What was amiss.
        problem: String,
    },
    /// BMv2 answered with another number than 0.
    #[error("BMv2 at {address} refused {method}: {code}")]
    Refused {
        /// As it was given.
        address: String,
        /// What it was asked.
        method: &'static str,
        /// Its number.
        code: i32,
    },
}

/// Sets depth and rate of all queues of all ports of the BMv2 at `address` (`host:port`). Without a rate, the rate stays
/// as it is.
///
/// # Errors
/// It can't be reached in time, or refuses.
pub async fn set_queues(address: &str, queues: Queues, timeout: Duration) -> Result<(), ThriftError> {
    let unreachable = |reason: String| ThriftError::Unreachable { address: address.to_owned(), reason };
    let work = async {
        let mut stream = TcpStream::connect(address).await.map_err(|error| unreachable(error.to_string()))?;
        let depth = i32::try_from(queues.depth).unwrap_or(i32::MAX);
        let mut depths = vec![I32, 0, 1];
        depths.extend(depth.to_be_bytes());
        call(&mut stream, address, "set_all_egress_queue_depths", &depths).await?;
        if let Some(rate) = queues.rate_pps {
            let mut rates = vec![I64, 0, 1];
            rates.extend(rate.to_be_bytes());
            call(&mut stream, address, "set_all_egress_queue_rates", &rates).await?;
        }
        Ok(())
    };
    let late = || unreachable(format!("no answer in {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, work).await.map_err(|_| late())?
}

/// Calls a method that takes one argument and answers with a number, 0 for done.
async fn call(
    stream: &mut TcpStream,
    address: &str,
    method: &'static str,
    argument: &[u8],
) -> Result<(), ThriftError> {
    let unreachable = |error: std::io::Error| ThriftError::Unreachable {
        address: address.to_owned(),
        reason: error.to_string(),
    };
    let protocol = |problem: String| ThriftError::Protocol { address: address.to_owned(), problem };
    let name = format!("{SERVICE}:{method}");
    let mut message = CALL.to_be_bytes().to_vec();
    message.extend(u32::try_from(name.len()).unwrap_or_default().to_be_bytes());
    message.extend(name.as_bytes());
    message.extend([0; 4]); // sequence
    message.extend(argument);
    message.push(STOP);
    stream.write_all(&message).await.map_err(unreachable)?;
    let kind = stream.read_u32().await.map_err(unreachable)?;
    if kind != REPLY {
        return Err(protocol(format!("{method} was answered with {kind:#010x} instead of {REPLY:#010x}")));
    }
    let length = stream.read_u32().await.map_err(unreachable)?;
    if length > NAME_OCTETS {
        return Err(protocol(format!("a name of {length} octets")));
    }
    // The name again, and the sequence.
    let mut rest = vec![0; length as usize + 4];
    stream.read_exact(&mut rest).await.map_err(unreachable)?;
    let mut field = [0; 3];
    stream.read_exact(&mut field).await.map_err(unreachable)?;
    if field != [I32, 0, 0] {
        return Err(protocol(format!("{method} gave no number")));
    }
    let code = stream.read_i32().await.map_err(unreachable)?;
    if stream.read_u8().await.map_err(unreachable)? != STOP {
        return Err(protocol(format!("{method} gave more than a number")));
    }
    if code == 0 { Ok(()) } else { Err(ThriftError::Refused { address: address.to_owned(), method, code }) }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each connection with these octets after the first has come, and gives what came.
    async fn server(answers: Vec<Vec<u8>>) -> (String, tokio::task::JoinHandle<Vec<Vec<u8>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut heard = Vec::new();
            for answer in answers {
                let mut octets = vec![0; 512];
                let length = stream.read(&mut octets).await.expect("a call");
                octets.truncate(length);
                heard.push(octets);
                stream.write_all(&answer).await.expect("the client reads");
            }
            heard
        });
        (address, task)
    }

    fn answer(method: &str, code: i32) -> Vec<u8> {
        let name = format!("simple_switch:{method}");
        let mut octets = REPLY.to_be_bytes().to_vec();
        octets.extend(u32::try_from(name.len()).expect("short").to_be_bytes());
        octets.extend(name.as_bytes());
        octets.extend([0, 0, 0, 0, I32, 0, 0]);
        octets.extend(code.to_be_bytes());
        octets.push(STOP);
        octets
    }

    const QUEUES: Queues = Queues { depth: 1024, rate_pps: Some(5000) };
    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn depth_and_rate_are_two_calls() {
        let answers = vec![answer("set_all_egress_queue_depths", 0), answer("set_all_egress_queue_rates", 0)];
        let (address, task) = server(answers).await;
        set_queues(&address, QUEUES, PATIENCE).await.expect("done");
        let heard = task.await.expect("heard");
        let name = b"simple_switch:set_all_egress_queue_depths";
        let wanted =
            [&[0x80, 1, 0, 1, 0, 0, 0, 41], &name[..], &[0; 4], &[8, 0, 1, 0, 0, 4, 0], &[0]].concat();
        assert_eq!(heard[0], wanted);
        assert!(heard[1].ends_with(&[10, 0, 1, 0, 0, 0, 0, 0, 0, 0x13, 0x88, 0]), "{:?}", heard[1]);
    }

    #[tokio::test]
    async fn what_goes_wrong_is_said() {
        let refused = answer("set_all_egress_queue_depths", 1);
        let exception = 0x8001_0003_u32.to_be_bytes().to_vec();
        let long = [&REPLY.to_be_bytes()[..], &[0xff; 4]].concat();
        for (answers, said) in [
            (vec![refused], "refused set_all_egress_queue_depths: 1"),
            (vec![exception], "answered with 0x80010003"),
            (vec![b"HTTP/1.1 400".to_vec()], "answered with 0x48545450"),
            (vec![long], "a name of 4294967295 octets"),
            (vec![], "can't set the queues"),
        ] {
            let (address, _task) = server(answers).await;
            let error = set_queues(&address, QUEUES, PATIENCE).await.expect_err("refused").to_string();
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}
