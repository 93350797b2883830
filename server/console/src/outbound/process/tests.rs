//! The process, asked through a door, with servers on this host.

use std::sync::mpsc;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::*;
use crate::outbound::{Outbound, OutboundError, OutboundHost};

const CERT: &[u8] = include_bytes!("../../../tests/data/own.cert.pem");

/// What asks a process that may connect to `private` hosts and to `public` ones, and trusts the certificate of tests.
fn asking(private: &[String], public: &[String]) -> Outbound {
    let hosts = |all: &[String]| all.iter().map(|host| host.parse::<OutboundHost>().unwrap()).collect();
    let targets = OutboundTargets { public: hosts(public), private: hosts(private) };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERT).unwrap()).unwrap();
    let process = OutboundProcess::trusting(targets.clone(), roots).unwrap();
    let (ours, theirs) = Door::pair().unwrap();
    let runtime = Handle::current();
    std::thread::spawn(move || serve(&theirs, &process, &runtime));
    Outbound::new(ours, targets)
}

fn get(url: String) -> OutboundRequest {
    OutboundRequest { method: OutboundMethod::Get, url, headers: Vec::new(), body: String::new(), timeout_ms: 10_000 }
}

/// A server that takes one request for each connection, gives it out, and answers with these bytes.
async fn server(answer: Vec<u8>) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, requests) = mpsc::sync_channel(64);
    tokio::spawn(async move {
        while let Ok((mut stream, _peer)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                let mut some = [0; 4096];
                match stream.read(&mut some).await {
                    Ok(length @ 1..) => head.extend_from_slice(&some[..length]),
                    _ => break,
                }
            }
            let _nobody = told.send(String::from_utf8_lossy(&head).into_owned());
            let _gone = stream.write_all(&answer).await;
        }
    });
    (port, requests)
}

fn http(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

async fn refusal(outbound: &Outbound, request: OutboundRequest) -> String {
    outbound.ask(request).await.unwrap_err().in_words()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_host_is_asked_and_its_answer_comes_back() {
    let (port, requests) = server(http("201 Created", "hé".as_bytes())).await;
    let outbound = asking(&[format!("localhost:{port}")], &[]);
    let request = OutboundRequest {
        method: OutboundMethod::Post,
        headers: vec![("x-a".to_owned(), "b".to_owned())],
        body: "hello".to_owned(),
        ..get(format!("http://localhost:{port}/a?b=c"))
    };
    let answer = outbound.ask(request).await.unwrap();
    assert_eq!(answer, OutboundAnswer { status: 201, content_type: "text/plain".to_owned(), body: "hé".to_owned() });
    let head = requests.recv().unwrap();
    assert!(head.starts_with("POST /a?b=c HTTP/1.1\r\n"), "{head}");
    for line in [format!("host: localhost:{port}"), "x-a: b".to_owned(), "content-length: 5".to_owned()] {
        assert!(head.contains(&format!("{line}\r\n")), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h26_no_redirect_is_followed_and_no_private_address_of_a_public_name_is_asked() {
    let (inner, inner_requests) = server(http("200 OK", b"secret")).await;
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inner}/\r\nContent-Length: 0\r\n\r\n");
    let (port, _requests) = server(moved.into_bytes()).await;
    let both = [format!("127.0.0.1:{port}"), format!("127.0.0.1:{inner}")];
    let answer = asking(&both, &[]).ask(get(format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (302, ""));
    // A name that was listed as public and resolves to this host, as one does whose owner changes it.
    let outbound = asking(&[], &[format!("localhost:{inner}")]);
    let refused = refusal(&outbound, get(format!("https://localhost:{inner}/"))).await;
    assert!(refused.contains("which is private: list the host with --outbound-private"), "{refused}");
    let literal = asking(&[], &[format!("127.0.0.1:{inner}")]);
    assert!(refusal(&literal, get(format!("https://127.0.0.1:{inner}/"))).await.contains("which is private"));
    assert!(inner_requests.try_recv().is_err(), "nobody has asked it");
    // The process looks at the list itself.
    let unlisted = outbound.targets().target(&format!("https://localhost:{port}/"));
    assert!(unlisted.is_err());
    let (ours, theirs) = Door::pair().unwrap();
    let process = OutboundProcess::trusting(OutboundTargets::default(), RootCertStore::empty()).unwrap();
    let runtime = Handle::current();
    std::thread::spawn(move || serve(&theirs, &process, &runtime));
    let lies =
        Outbound::new(ours, OutboundTargets { private: vec![both[1].parse().unwrap()], ..OutboundTargets::default() });
    assert!(refusal(&lies, get(format!("http://127.0.0.1:{inner}/"))).await.contains("not among the hosts"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_told_in_words() {
    let large = vec![b'x'; MAX_OUTBOUND_ANSWER_BYTES + 1];
    for (answer, words) in [
        (http("200 OK", &large), "has more than 262144 bytes"),
        (http("200 OK", b"\xff\xfe"), "is no text"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec(), "was cut short"),
        (b"nonsense\r\n\r\n".to_vec(), "asking 127.0.0.1:"),
        (Vec::new(), "asking 127.0.0.1:"),
    ] {
        let (port, _requests) = server(answer).await;
        let outbound = asking(&[format!("127.0.0.1:{port}")], &[]);
        let refused = refusal(&outbound, get(format!("http://127.0.0.1:{port}/"))).await;
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let fits = http("200 OK", &large[1..]);
    let (port, _requests) = server(fits).await;
    let outbound = asking(&[format!("127.0.0.1:{port}")], &[]);
    let answer = outbound.ask(get(format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!(answer.body.len(), MAX_OUTBOUND_ANSWER_BYTES);
    // Nobody listens, and somebody who does not answer.
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    let outbound = asking(&[format!("127.0.0.1:{port}")], &[]);
    let slow = OutboundRequest { timeout_ms: 50, ..get(format!("http://127.0.0.1:{port}/")) };
    assert!(refusal(&outbound, slow).await.contains("there was no answer within 0.05 s"));
    drop(nobody);
    let refused = refusal(&outbound, get(format!("http://127.0.0.1:{port}/"))).await;
    assert!(refused.contains("connecting to 127.0.0.1") && refused.contains("refused"), "{refused}");
    // What is too large, or says what is not its to say, is not sent.
    let body = "x".repeat(MAX_OUTBOUND_BODY_BYTES + 1);
    let request = OutboundRequest { body, ..get(format!("http://127.0.0.1:{port}/")) };
    assert!(matches!(outbound.ask(request).await, Err(OutboundError::TooLarge)));
    let (port, _requests) = server(http("200 OK", b"")).await;
    let outbound = asking(&[format!("127.0.0.1:{port}")], &[]);
    for header in [("Host", "evil"), ("Content-Length", "3"), ("a b", "c"), ("a", "b\r\nc: d")] {
        let headers = vec![(header.0.to_owned(), header.1.to_owned())];
        let request = OutboundRequest { headers, ..get(format!("http://127.0.0.1:{port}/")) };
        assert!(refusal(&outbound, request).await.contains("not one that can be sent"), "{header:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_is_told_and_the_next_one_takes_what_waits() {
    let (port, _requests) = server(http("200 OK", b"there")).await;
    let targets =
        OutboundTargets { private: vec![format!("127.0.0.1:{port}").parse().unwrap()], ..OutboundTargets::default() };
    let (ours, theirs) = Door::pair().unwrap();
    let outbound = Outbound::new(ours, targets.clone());
    let asked = tokio::spawn({
        let (outbound, url) = (outbound.clone(), format!("http://127.0.0.1:{port}/"));
        async move { outbound.ask(get(url)).await }
    });
    // One that takes a request and ends.
    let theirs = tokio::task::spawn_blocking(move || {
        drop(theirs.accept().unwrap());
        theirs
    });
    let theirs = theirs.await.unwrap();
    assert!(matches!(asked.await.unwrap(), Err(OutboundError::Died)));
    let waits = tokio::spawn({
        let (outbound, url) = (outbound.clone(), format!("http://127.0.0.1:{port}/"));
        async move { outbound.ask(get(url)).await }
    });
    let process = OutboundProcess::trusting(targets, RootCertStore::empty()).unwrap();
    let runtime = Handle::current();
    std::thread::spawn(move || serve(&theirs, &process, &runtime));
    assert_eq!(waits.await.unwrap().unwrap().body, "there");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_with_who_has_a_certificate_that_is_trusted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = crate::tls::tests::own().acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _peer)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _request = stream.read(&mut [0; 4096]).await;
            let _gone = stream.write_all(&http("200 OK", b"by TLS")).await;
            let _gone = stream.shutdown().await;
        }
    });
    let hosts = [format!("localhost:{port}"), format!("127.0.0.2:{port}")];
    let outbound = asking(&hosts, &[]);
    assert_eq!(outbound.ask(get(format!("https://localhost:{port}/"))).await.unwrap().body, "by TLS");
    let targets = outbound.targets().clone();
    let (ours, theirs) = Door::pair().unwrap();
    let process = OutboundProcess::trusting(targets.clone(), RootCertStore::empty()).unwrap();
    let runtime = Handle::current();
    std::thread::spawn(move || serve(&theirs, &process, &runtime));
    let trusting_nobody = Outbound::new(ours, targets);
    let refused = refusal(&trusting_nobody, get(format!("https://localhost:{port}/"))).await;
    assert!(refused.contains("give --outbound-ca FILE"), "{refused}");
}
