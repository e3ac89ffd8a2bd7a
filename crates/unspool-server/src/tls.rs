//! TLS: the gateway's certificate, and a TLS listener.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::serve::Listener;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{RootCertStore, crypto};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::config::HttpConfig;
use crate::error::StartupError;

/// Timeout of a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(3);
/// Pause after an error such as too many open files.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of simultaneous handshakes; further clients wait in the system's queue.
const MOST_HANDSHAKES: usize = 1024;
/// Maximum per address; further ones are rejected, so that one client cannot lock out others.
const MOST_OF_ONE_ADDRESS: usize = 64;

/// The TLS settings, if the gateway serves HTTPS.
///
/// # Errors
/// A file cannot be read, contains no certificate or key, or the two do not match.
pub fn acceptor(config: &HttpConfig) -> Result<Option<TlsAcceptor>, StartupError> {
    let (Some(certificate), Some(key)) = (&config.ssl_certfile, &config.ssl_keyfile) else { return Ok(None) };
    let chain = certificates("--ssl-certfile", certificate)?;
    let secret = private_key(key)?;
    let provider = Arc::new(crypto::ring::default_provider());
    let setting = |error: rustls::Error| StartupError::new(format!("TLS cannot be set up: {error}"));
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(setting)?;
    let builder = match &config.ssl_ca_certs {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates("--ssl-ca-certs", path)? {
                roots.add(root).map_err(|error| unusable("--ssl-ca-certs", path, &error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if config.ssl_cert_reqs == 1 { verifier.allow_unauthenticated() } else { verifier };
            let verifier = verifier.build();
            builder.with_client_cert_verifier(
                verifier.map_err(|error| unusable("--ssl-ca-certs", path, &error.to_string()))?,
            )
        }
    };
    let mut settings = builder.with_single_cert(chain, secret).map_err(|error| {
        match &error {
            rustls::Error::InvalidCertificate(_) => {
                return unusable("--ssl-certfile", certificate, &error.to_string());
            }
            rustls::Error::InconsistentKeys(_) => {}
            _ => return no_key(key, &format!("holds a private key that cannot be used: {error}")),
        }
        let message = format!(
            "the key {} and the certificate {} cannot be used together: {error}",
            key.display(),
            certificate.display()
        );
        StartupError::new(message)
            .hint("--ssl-keyfile must be the private key of the first certificate in --ssl-certfile")
    })?;
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(settings))))
}

fn unusable(flag: &str, path: &Path, what: &str) -> StartupError {
    StartupError::new(format!("{flag}: {} cannot be used: {what}", path.display()))
        .hint("it must hold certificates in PEM: -----BEGIN CERTIFICATE-----")
}

fn certificates(flag: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, StartupError> {
    let text = read(flag, path)?;
    let list: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let list = list.map_err(|error| unusable(flag, path, &error.to_string()))?;
    if list.is_empty() { Err(unusable(flag, path, "there is no certificate in it")) } else { Ok(list) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, StartupError> {
    let text = read("--ssl-keyfile", path)?;
    // The message must not contain the key itself.
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| no_key(path, "holds no private key that can be read"))
}

fn no_key(path: &Path, what: &str) -> StartupError {
    StartupError::new(format!("--ssl-keyfile: {} {what}", path.display()))
        .hint("it must be in PEM and without a password; `openssl pkey -in KEY -out PLAIN` takes one away")
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, StartupError> {
    std::fs::read(path).map_err(|error| {
        StartupError::new(format!("{flag}: cannot read {}: {error}", path.display()))
            .hint("check the path, and that the gateway may read the file")
    })
}

/// A listener that returns connections after their handshake. A slow client does not block others.
pub struct TlsListener {
    inner: TcpListener,
    acceptor: TlsAcceptor,
    shaking: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
    places: Places,
}

/// Number of handshakes per address.
#[derive(Debug, Clone, Default)]
struct Places(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Places {
    /// A slot for one more client of this address, until dropped.
    fn take(&self, address: IpAddr) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(address).or_default();
        if *count == MOST_OF_ONE_ADDRESS {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), address })
    }
}

#[derive(Debug)]
struct Place {
    places: Places,
    address: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

impl TlsListener {
    /// A listener on top of `inner`.
    #[must_use]
    pub fn new(inner: TcpListener, acceptor: TlsAcceptor) -> Self {
        Self { inner, acceptor, shaking: JoinSet::new(), places: Places::default() }
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            // Both are cancel-safe.
            tokio::select! {
                Some(shaken) = self.shaking.join_next() => {
                    if let Ok(Some(connection)) = shaken {
                        return connection;
                    }
                }
                accepted = self.inner.accept(), if self.shaking.len() < MOST_HANDSHAKES => match accepted {
                    Ok((stream, address)) => {
                        // Tokens are small and must not wait for acknowledgements (Nagle's algorithm).
                        let _ = stream.set_nodelay(true);
                        let acceptor = self.acceptor.clone();
                        let Some(place) = self.places.take(address.ip()) else {
                            tracing::debug!("a client has too many TLS handshakes open");
                            continue;
                        };
                        self.shaking.spawn(async move {
                            let _place = place;
                            match timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
                                Ok(Ok(stream)) => Some((stream, address)),
                                Ok(Err(error)) => {
                                    tracing::debug!(%error, "a client did not get through the TLS handshake");
                                    None
                                }
                                Err(_) => None,
                            }
                        });
                    }
                    Err(error) if is_of_one_connection(&error) => {}
                    Err(error) => {
                        tracing::error!(%error, "no connection can be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// Whether an error concerns only the incoming connection, not the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
