//! The server's certificate, and whose clients it serves.

use std::fs;
use std::path::Path;

use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use super::Args;

/// What the flags say; `None` without TLS.
pub fn config(args: &Args) -> Result<Option<ServerTlsConfig>> {
    let (true, Some(certificate), Some(key)) =
        (args.grpc_server_ssl, &args.grpc_server_cert, &args.grpc_server_key)
    else {
        return Ok(None);
    };
    let mut tls = ServerTlsConfig::new().identity(Identity::from_pem(read(certificate)?, read(key)?));
    if let (true, Some(ca)) = (args.grpc_server_with_client_auth, &args.grpc_server_cacert) {
        tls = tls.client_ca_root(Certificate::from_pem(read(ca)?));
    }
    // Found out now rather than after saying that it serves.
    Server::builder().tls_config(tls.clone()).map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        miette!("no TLS with {} and {}: {reason}", certificate.display(), key.display())
    })?;
    Ok(Some(tls))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).into_diagnostic().wrap_err_with(|| format!("{} can't be read", path.display()))
}
