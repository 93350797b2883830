//! The accept loop: HTTP/1.1 with limits that `axum::serve` does not have.
//!
//! A head must arrive within [`HEAD_TIMEOUT`] and fit into [`HEAD_BYTES`]; there are at most [`CONNECTIONS`] connections,
//! and [`CONNECTIONS_PER_SOURCE`] from one address, beyond which a new one takes the place of an older one that nobody
//! has logged in on (`slots`); a peer that takes nothing for [`STALL_TIMEOUT`] while something waits to be sent is cut.
//! Where the console speaks TLS itself, the handshake has the time of a head.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, response::Response};
use http::Request;
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Instant, Sleep},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{Service, ServiceExt as _};

use super::{
    context::Peer,
    slots::{Slot, Slots},
};
use crate::tls::{ServerTls, is_handshake};

/// How long a request's head may take, and how long a connection may wait for the next one.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest request head.
pub(super) const HEAD_BYTES: usize = 16 << 10;
/// The most header fields.
const HEADER_FIELDS: usize = 100;
/// The most connections.
pub(super) const CONNECTIONS: usize = 512;
/// The most connections from one address (for IPv6: one network of 64 bits).
pub(super) const CONNECTIONS_PER_SOURCE: usize = 64;
/// How long a peer may take nothing of what waits to be sent.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long connections have to end when the console stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long accepting pauses when the kernel gives no descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The limits of a listener; [`ListenLimits::default`] is what the console uses.
#[derive(Clone, Copy, Debug)]
pub struct ListenLimits {
    /// See [`HEAD_TIMEOUT`].
    pub head_timeout: Duration,
    /// See [`STALL_TIMEOUT`].
    pub stall_timeout: Duration,
    /// See [`CONNECTIONS`].
    pub connections: usize,
    /// See [`CONNECTIONS_PER_SOURCE`]; a proxy in front is one source for everybody, so there it is [`CONNECTIONS`].
    pub per_source: usize,
}

impl Default for ListenLimits {
    fn default() -> Self {
        Self {
            head_timeout: HEAD_TIMEOUT,
            stall_timeout: STALL_TIMEOUT,
            connections: CONNECTIONS,
            per_source: CONNECTIONS_PER_SOURCE,
        }
    }
}

/// Serves `service` on `listener`, with TLS if there is some, until `stop` is cancelled; then lets open connections end for a
/// few seconds.
pub(super) async fn serve<S>(
    (listener, tls): (TcpListener, Option<ServerTls>),
    service: S,
    limits: ListenLimits,
    stop: CancellationToken,
) where
    S: Service<Request<Body>, Response = Response, Error = std::convert::Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let slots = Slots::new(limits);
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match slots.take(source_of(peer.ip())) {
                Some(slot) => {
                    let (service, stop) = (service.clone(), stop.clone());
                    let tls = tls.as_ref().map(ServerTls::acceptor);
                    connections.spawn(async move {
                        let cut = slot.cut().clone();
                        tokio::select! {
                            // What has come already is served before a place that is wanted is given up.
                            biased;
                            () = connection((stream, tls), peer, service, slot, limits, stop) => {}
                            () = cut.cancelled() => tracing::debug!("too many connections; the oldest was cut"),
                        }
                    });
                }
                None => tracing::debug!("too many connections; one was refused"),
            },
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "connections were cut at the end");
    }
}

async fn connection<S>(
    (mut stream, tls): (TcpStream, Option<TlsAcceptor>),
    peer: SocketAddr,
    service: S,
    slot: Slot,
    limits: ListenLimits,
    stop: CancellationToken,
) where
    S: Service<Request<Body>, Response = Response, Error = std::convert::Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    // Without it small answers wait for acknowledgements; if it fails they only wait.
    let _slower = stream.set_nodelay(true);
    let service = tower::service_fn(move |mut request: Request<Incoming>| {
        let serving = slot.serve();
        request.extensions_mut().insert(Peer(peer.ip()));
        request.extensions_mut().insert(slot.clone());
        let answering = service.clone().oneshot(request.map(Body::new));
        async move {
            let answer = answering.await;
            drop(serving);
            answer
        }
    });
    let Some(tls) = tls else {
        return talk(StallGuard::new(stream, limits.stall_timeout), service, limits, stop).await;
    };
    let handshake = async {
        if !is_handshake(&mut stream).await? {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not begin with a handshake"));
        }
        tls.accept(StallGuard::new(stream, limits.stall_timeout)).await
    };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(limits.head_timeout, handshake) => shaken,
        () = stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => talk(stream, service, limits, stop).await,
        Ok(Err(error)) => tracing::debug!(%error, "a connection speaks no TLS that the console knows"),
        Err(_elapsed) => tracing::debug!("a handshake took too long"),
    }
}

/// Answers the requests of a connection until it or the console ends.
async fn talk<S>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    service: S,
    limits: ListenLimits,
    stop: CancellationToken,
) where
    S: Service<Request<Incoming>, Response = Response, Error = std::convert::Infallible> + Clone + Send,
    S::Future: Send,
{
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADER_FIELDS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// What counts as one source: an address, or for IPv6 its network, because a host has all addresses of it.
pub(super) fn source_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
    }
}

/// A connection that fails when the peer reads nothing for too long while something waits to be sent.
struct StallGuard {
    stream: TcpStream,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl StallGuard {
    fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// Passes on what a write gave, and fails it when writes have been pending for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer reads nothing"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for StallGuard {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for StallGuard {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
