//! The process that connects: takes requests at its door, and asks those who are listed.
//!
//! A name is resolved once, its addresses are looked at, and the connection goes to the very address that was looked at: a name that
//! resolves to something else a moment later changes nothing.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bathyscope_link::words;
use bathyscope_protocol::{Connection, Door, ProtocolError};
use http::{
    HeaderName, HeaderValue, Method, Request,
    header::{ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    runtime::Handle,
    sync::Semaphore,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::{
    AT_ONCE, MAX_HEADERS, MAX_OUTBOUND_ANSWER_BYTES, MAX_OUTBOUND_BODY_BYTES, MAX_OUTBOUND_MS, MAX_PACKET_BYTES,
    OutboundAnswer, OutboundMethod, OutboundReply, OutboundRequest, OutboundTargets, Target,
};
use crate::Failure;

/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;
/// How long the console may take to say what it wants, and to take the answer.
const CONSOLE_IN: Duration = Duration::from_secs(5);
/// The largest file of certificates that is read.
const MAX_CA_BYTES: u64 = 4 << 20;

/// What the process needs, read while it may read it.
#[derive(Clone, Debug)]
pub struct OutboundProcess {
    targets: OutboundTargets,
    tls: Arc<ClientConfig>,
    /// Whether nobody is trusted, so that no connection with TLS comes about.
    trusts_nobody: bool,
}

impl OutboundProcess {
    /// Reads who is trusted: the authorities that this host trusts, and those in the files. To be called while they may be read.
    ///
    /// # Errors
    /// If a file cannot be read or has no certificate.
    pub fn new(targets: OutboundTargets, ca_files: &[std::path::PathBuf]) -> Result<Self, Failure> {
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors.iter().take(3) {
            tracing::warn!(%error, "a certificate that this host trusts cannot be read");
        }
        let mut roots = RootCertStore::empty();
        let (_usable, unusable) = roots.add_parsable_certificates(found.certs);
        if unusable > 0 {
            tracing::warn!(unusable, "certificates that this host trusts cannot be used");
        }
        for path in ca_files {
            for certificate in read_certificates(path)? {
                roots.add(certificate).map_err(|error| {
                    Failure::because(format!("taking the certificate in {} for one to trust", path.display()), error)
                })?;
            }
        }
        Self::trusting(targets, roots)
    }

    /// The same, trusting `roots`.
    ///
    /// # Errors
    /// If TLS cannot be spoken at all.
    pub fn trusting(targets: OutboundTargets, roots: RootCertStore) -> Result<Self, Failure> {
        let trusts_nobody = roots.is_empty();
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::because("setting TLS up", error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { targets, tls: Arc::new(tls), trusts_nobody })
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    use std::io::Read as _;
    let doing = || format!("reading the certificates in {}", path.display());
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_CA_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| Failure::because(doing(), error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| Failure::because(doing(), error.to_string()))?;
    if found.is_empty() {
        return Err(Failure::new(format!("{}: it has none", doing()))
            .remedy("Give a PEM file with the certificate of the authority that issued those of the hosts."));
    }
    Ok(found)
}

/// Serves the console at the other end of `door` until that is gone. To be called in a runtime, on a thread that may wait.
///
/// # Errors
/// If the door cannot be waited at any more.
pub fn serve(door: &Door, process: &OutboundProcess, runtime: &Handle) -> Result<(), ProtocolError> {
    let slots = Arc::new(Semaphore::new(2 * AT_ONCE));
    loop {
        let connection = match door.accept() {
            Ok(connection) => connection,
            Err(ProtocolError::Closed) => return Ok(()),
            Err(error @ ProtocolError::Io { .. }) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a request is none");
                continue;
            }
        };
        // The console asks fewer at a time; what is beyond is closed, which tells it.
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
        let (process, runtime) = (process.clone(), runtime.clone());
        let inside = runtime.clone();
        runtime.spawn_blocking(move || {
            if let Err(error) = one(&connection, &process, &inside) {
                tracing::debug!(%error, "a request was not answered");
            }
            drop(slot);
        });
    }
}

fn one(connection: &Connection, process: &OutboundProcess, runtime: &Handle) -> Result<(), ProtocolError> {
    let request: OutboundRequest = connection.receive_large(Some(CONSOLE_IN), MAX_PACKET_BYTES)?.message;
    let lasts = Duration::from_millis(u64::from(request.timeout_ms.min(MAX_OUTBOUND_MS)));
    let answered = runtime.block_on(async { tokio::time::timeout(lasts, process.ask(&request)).await });
    let reply = answered.unwrap_or_else(|_elapsed| {
        OutboundReply::Failed(format!("there was no answer within {} s", lasts.as_secs_f32()))
    });
    connection.send_large(&reply, &[], MAX_PACKET_BYTES, CONSOLE_IN)
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("finding the address of {host}")]
    Resolve { host: String, source: io::Error },
    #[error("{host} has no address")]
    NoAddress { host: String },
    #[error("connecting to {host} at {address}")]
    Connect { host: String, address: IpAddr, source: io::Error },
    #[error("{host} is no name that a certificate can have")]
    Name { host: String },
    #[error(
        "there is no certificate on this host to trust; install those of its distribution, or give --outbound-ca FILE"
    )]
    TrustsNobody,
    #[error("speaking TLS with {host}")]
    Tls { host: String, source: io::Error },
    #[error("asking {host}")]
    Http { host: String, source: hyper::Error },
    #[error("the request is not one that can be sent")]
    Request,
    #[error("the answer of {host} was cut short")]
    Body { host: String },
    #[error("the answer of {host} has more than {MAX_OUTBOUND_ANSWER_BYTES} bytes")]
    TooLarge { host: String },
    #[error("the answer of {host} is no text")]
    NoText { host: String },
}

impl OutboundProcess {
    async fn ask(&self, request: &OutboundRequest) -> OutboundReply {
        let target = match self.targets.target(&request.url) {
            Ok(target) => target,
            Err(error) => return OutboundReply::Refused(words(&error)),
        };
        let addresses = match addresses(&target).await {
            Ok(addresses) => addresses,
            Err(error) => return OutboundReply::Failed(words(&error)),
        };
        let usable = match target.usable(addresses) {
            Ok(usable) => usable,
            Err(error) => return OutboundReply::Refused(words(&error)),
        };
        match self.ask_at(request, &target, usable).await {
            Ok(answer) => OutboundReply::Answer(answer),
            Err(error) => OutboundReply::Failed(words(&error)),
        }
    }

    async fn ask_at(
        &self,
        request: &OutboundRequest,
        target: &Target,
        addresses: Vec<IpAddr>,
    ) -> Result<OutboundAnswer, AskError> {
        let sent = http_request(request, target)?;
        let stream = connect(target, addresses).await?;
        if !target.tls {
            return exchange(stream, sent, target).await;
        }
        if self.trusts_nobody {
            return Err(AskError::TrustsNobody);
        }
        let name = ServerName::try_from(target.name.clone());
        let name = name.map_err(|_invalid| AskError::Name { host: target.host() })?;
        let connecting = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream);
        let stream = connecting.await.map_err(|source| AskError::Tls { host: target.host(), source })?;
        exchange(stream, sent, target).await
    }
}

async fn addresses(target: &Target) -> Result<Vec<IpAddr>, AskError> {
    if let Ok(address) = target.name.parse() {
        return Ok(vec![address]);
    }
    let found = lookup_host((target.name.as_str(), target.port)).await;
    let found = found.map_err(|source| AskError::Resolve { host: target.host(), source })?;
    let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    addresses.dedup();
    if addresses.is_empty() { Err(AskError::NoAddress { host: target.host() }) } else { Ok(addresses) }
}

/// Connects to the first of the addresses that answers.
async fn connect(target: &Target, addresses: Vec<IpAddr>) -> Result<TcpStream, AskError> {
    let mut trouble = AskError::NoAddress { host: target.host() };
    for address in addresses.into_iter().take(MAX_ADDRESSES) {
        match TcpStream::connect(SocketAddr::new(address, target.port)).await {
            Ok(stream) => return Ok(stream),
            Err(source) => trouble = AskError::Connect { host: target.host(), address, source },
        }
    }
    Err(trouble)
}

fn http_request(request: &OutboundRequest, target: &Target) -> Result<Request<Full<bytes::Bytes>>, AskError> {
    if request.body.len() > MAX_OUTBOUND_BODY_BYTES || request.headers.len() > MAX_HEADERS {
        return Err(AskError::Request);
    }
    let method = match request.method {
        OutboundMethod::Get => Method::GET,
        OutboundMethod::Post => Method::POST,
    };
    let built = Request::builder().method(method).uri(&target.path).header(HOST, &target.host_header);
    let built = built.header(USER_AGENT, "Bathyscope").header(ACCEPT_ENCODING, "identity");
    let built = built.body(Full::new(bytes::Bytes::from(request.body.clone())));
    let mut built = built.map_err(|_invalid| AskError::Request)?;
    for (name, value) in &request.headers {
        let name = HeaderName::try_from(name).map_err(|_invalid| AskError::Request)?;
        let value = HeaderValue::try_from(value).map_err(|_invalid| AskError::Request)?;
        // What says where the request goes and how long it is stays ours.
        if [HOST, http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING].contains(&name) {
            return Err(AskError::Request);
        }
        built.headers_mut().insert(name, value);
    }
    Ok(built)
}

/// Sends the request over a connection of its own and takes the answer.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<bytes::Bytes>>,
    target: &Target,
) -> Result<OutboundAnswer, AskError> {
    let failed = |source| AskError::Http { host: target.host(), source };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let exchanging = async {
        let answer = sender.send_request(request).await.map_err(failed)?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_OUTBOUND_ANSWER_BYTES).collect().await.map_err(|error| {
            let host = target.host();
            if error.is::<LengthLimitError>() { AskError::TooLarge { host } } else { AskError::Body { host } }
        })?;
        let body = String::from_utf8(body.to_bytes().into());
        let body = body.map_err(|_bytes| AskError::NoText { host: target.host() })?;
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        Ok(OutboundAnswer { status: head.status.as_u16(), content_type: content_type.to_owned(), body })
    };
    tokio::pin!(exchanging);
    let mut connection = std::pin::pin!(connection);
    let mut is_open = true;
    loop {
        tokio::select! {
            answer = &mut exchanging => return answer,
            // Its end is told by the exchange itself.
            _ended = &mut connection, if is_open => is_open = false,
        }
    }
}

#[cfg(test)]
mod tests;
