//! TLS that the console speaks itself: through the real listener, with a client that checks the certificate.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bathyscope_console::{
    config::ServerTls,
    http::{ListenLimits, serve},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
        version::{TLS12, TLS13},
    },
};

use crate::harness::{Console, HOST};

const CERT: &[u8] = include_bytes!("../data/own.cert.pem");
const KEY: &[u8] = include_bytes!("../data/own.key.pem");

async fn listening(limits: ListenLimits) -> (Console, SocketAddr) {
    let console = Console::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = ServerTls::from_pem(CERT, KEY).unwrap();
    tokio::spawn(serve((listener, Some(tls)), console.state.clone(), limits, console.stop.clone()));
    (console, address)
}

fn connector(versions: &[&'static tokio_rustls::rustls::SupportedProtocolVersion]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERT).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_protocol_versions(versions).unwrap().with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn is_well(address: SocketAddr, versions: &[&'static tokio_rustls::rustls::SupportedProtocolVersion]) -> bool {
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = connector(versions).connect(name, stream).await.unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A peer that checks for truncation ends with an error unless the console ends TLS before the connection.
    stream.read_to_string(&mut answer).await.unwrap();
    answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok")
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_spoken() {
    let (_console, address) = listening(ListenLimits::default()).await;
    assert!(is_well(address, &[&TLS13]).await);
    assert!(is_well(address, &[&TLS12]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_plain_text_is_told_how_to_come() {
    let (_console, address) = listening(ListenLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET /login HTTP/1.1\r\nhost: {HOST}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("its address begins with https://"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("set-cookie"), "{answer}");
    assert!(is_well(address, &[&TLS13]).await, "others are served");
}

#[tokio::test(flavor = "multi_thread")]
async fn p15_a_handshake_that_takes_too_long_is_cut() {
    let limits = ListenLimits { head_timeout: Duration::from_millis(200), ..ListenLimits::default() };
    let (_console, address) = listening(limits).await;
    for begun in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"\x16\x03\x01\xff\xff rubbish", b"G"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begun).await.unwrap();
        let mut all = Vec::new();
        let cut = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut all)).await;
        assert!(cut.is_ok(), "{begun:?}");
    }
    assert!(is_well(address, &[&TLS13]).await);
}
