//! TLS of the console's own, for whoever puts no proxy in front: a certificate and its key, read once at the start, and the
//! handshake of a connection.

use std::{fmt, fs::File, io, io::Read as _, path::Path, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::Failure;

/// The largest file of a certificate or key that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The kind of a TLS record that a handshake begins with (RFC 8446, 5.1). No request in plain text does.
const HANDSHAKE_RECORD: u8 = 0x16;
/// What a request in plain text is answered.
const PLAIN_ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 58\r\nConnection: close\r\n\r\n\
    This console speaks TLS: its address begins with https://\n";
/// The most that is read of such a request, so that its answer is not lost with the connection.
const PLAIN_REQUEST_BYTES: u64 = 64 << 10;

/// A certificate with its key, ready to be served.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls")
    }
}

/// What makes two texts no certificate with its key.
#[derive(Debug, thiserror::Error)]
pub enum ServerTlsError {
    /// The text has none.
    #[error("the file of --tls-cert has no certificate")]
    NoCertificate,
    /// The text has a certificate that cannot be decoded.
    #[error("the file of --tls-cert is damaged: {0}")]
    Certificate(String),
    /// The text has none, or one with a password.
    #[error("the file of --tls-key has no private key that is readable without a password")]
    NoKey,
    /// They do not belong together, or are of a kind that is not known.
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(#[from] tokio_rustls::rustls::Error),
}

impl ServerTls {
    /// Reads the certificate, with those that it was issued by, and its key from PEM files. To be called while the process
    /// may still read them.
    ///
    /// # Errors
    /// If a file cannot be read, or they are no certificate with its key.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, Failure> {
        let pem = |path: &Path| {
            let mut bytes = Vec::new();
            let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes));
            read.map(|_length| bytes).map_err(|error| Failure::because(format!("reading {}", path.display()), error))
        };
        Self::from_pem(&pem(cert)?, &pem(key)?).map_err(|error| {
            Failure::because(format!("taking the certificate {} with the key {}", cert.display(), key.display()), error)
                .remedy(
                    "Give PEM files: --tls-cert the certificate, then those that it was issued by; --tls-key its private \
                     key, without a password.",
                )
        })
    }

    /// The same from what the files have.
    ///
    /// # Errors
    /// If they are no certificate with its key.
    pub fn from_pem(cert: &[u8], key: &[u8]) -> Result<Self, ServerTlsError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(cert).collect();
        let certificates = certificates.map_err(|error| ServerTlsError::Certificate(error.to_string()))?;
        if certificates.is_empty() {
            return Err(ServerTlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_none| ServerTlsError::NoKey)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.clone())
    }
}

/// Whether a connection begins with a handshake. One that begins otherwise is told how to come, and ended.
pub(crate) async fn is_handshake(stream: &mut TcpStream) -> io::Result<bool> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => return Ok(false),
        _ if first[0] == HANDSHAKE_RECORD => return Ok(true),
        _ => {}
    }
    stream.write_all(PLAIN_ANSWER).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(PLAIN_REQUEST_BYTES), &mut tokio::io::sink()).await?;
    Ok(false)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const CERT: &[u8] = include_bytes!("../tests/data/own.cert.pem");
    const KEY: &[u8] = include_bytes!("../tests/data/own.key.pem");
    const OTHER_KEY: &[u8] = include_bytes!("../tests/data/other.key.pem");
    const LOCKED_KEY: &[u8] = include_bytes!("../tests/data/locked.key.pem");

    /// A certificate that was made for tests.
    pub(crate) fn own() -> ServerTls {
        ServerTls::from_pem(CERT, KEY).unwrap()
    }

    #[test]
    fn what_is_no_certificate_with_its_key_is_refused_in_words() {
        let damaged = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        let cases: [(&str, &[u8], &[u8], &str); 7] = [
            ("nothing", b"", b"", "has no certificate"),
            ("the other way round", KEY, CERT, "--tls-cert has no certificate"),
            ("a damaged certificate", damaged, KEY, "is damaged"),
            ("a damaged one after another", &[CERT, damaged].concat(), KEY, "is damaged"),
            ("no key", CERT, CERT, "--tls-key has no private key"),
            ("a key with a password", CERT, LOCKED_KEY, "without a password"),
            ("the key of another", CERT, OTHER_KEY, "cannot be used"),
        ];
        for (what, cert, key, words) in cases {
            let refused = ServerTls::from_pem(cert, key).unwrap_err().to_string();
            assert!(refused.contains(words), "{what}: {refused}");
        }
        assert_eq!(format!("{:?}", own()), "ServerTls", "nothing of the key is told");
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let (cert, none) = (Path::new("tests/data/own.cert.pem"), Path::new("tests/data/none.pem"));
        let refused = ServerTls::read(cert, none).unwrap_err().report();
        assert!(refused.contains("reading tests/data/none.pem"), "{refused}");
        let refused = ServerTls::read(cert, cert).unwrap_err().report();
        assert!(refused.contains("--tls-key has no private key") && refused.contains("Give PEM files"), "{refused}");
    }

    #[test]
    fn the_length_of_the_plain_answer_is_its_own() {
        let text = std::str::from_utf8(PLAIN_ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{text}");
    }
}
