//! Where a switch listens and how it is recognised: what a channel needs.

use std::fmt;
use std::time::Duration;

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::ClientError;

/// Largest list of headers taken, octets: a refused batch has one outcome for each update in the answer's trailers, some
/// 40 octets each, and the default of 16 KiB is less than a few hundred need.
const HEADER_OCTETS: u32 = 64 << 20;

/// Where a switch listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `host:port`, or with `http://` or `https://` before it.
    pub host_port: String,
    /// How it is recognised; `None`: no TLS.
    pub tls: Option<Tls>,
}

/// How a server is recognised, and who the client is to it.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificate authority that signed the server's certificate, PEM.
    pub ca: Vec<u8>,
    /// The client's certificate and its key, PEM, for servers that ask for one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Name in the server's certificate; `None`: the host of its address.
    pub name: Option<String>,
}

/// Without the key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self.identity.is_some();
        f.debug_struct("Tls").field("identity", &identity).field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T: AsRef<str>> From<T> for Address {
    fn from(host_port: T) -> Self {
        Self { host_port: host_port.as_ref().to_owned(), tls: None }
    }
}

/// Connects to a switch; for everything that isn't a [`super::Client`]'s stream.
///
/// # Errors
/// Nobody answers there, or it isn't the one that it should be.
pub async fn channel(address: &Address, timeout: Duration) -> Result<Channel, ClientError> {
    let unreachable = |source| ClientError::Connect { address: address.host_port.clone(), source };
    let scheme = if address.tls.is_some() { "https" } else { "http" };
    let uri = if address.host_port.contains("://") {
        address.host_port.clone()
    } else {
        format!("{scheme}://{}", address.host_port)
    };
    let mut endpoint = Endpoint::from_shared(uri)
        .map_err(unreachable)?
        .connect_timeout(timeout)
        .http2_max_header_list_size(HEADER_OCTETS);
    if let Some(tls) = &address.tls {
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &tls.name {
            config = config.domain_name(name);
        }
        endpoint = endpoint.tls_config(config).map_err(unreachable)?;
    }
    endpoint.connect().await.map_err(unreachable)
}
