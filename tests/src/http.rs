//! A small HTTP/1.1 client: one connection for each request, all in plain sight.

use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::wait::PATIENCE;

/// What a server answered.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names in lower case, with values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header called `name`, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
}

/// A request to be sent to a server on this machine.
#[derive(Debug)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Headers beside `Host`, `Connection` and `Content-Length`.
    pub headers: Vec<(&'a str, String)>,
    /// The body; none is sent if it is empty.
    pub body: Vec<u8>,
}

impl Request<'_> {
    fn open(&self, address: SocketAddr) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(address).unwrap_or_else(|e| panic!("connecting to {address}: {e}"));
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes a timeout");
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method != "GET" {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&self.body)).expect("the server reads");
        BufReader::new(stream)
    }

    /// Sends it and reads the whole answer.
    ///
    /// # Panics
    /// If there is no server or its answer is not HTTP.
    pub fn send(&self, address: SocketAddr) -> Response {
        let mut stream = self.open(address);
        let (status, headers) = read_head(&mut stream);
        let mut response = Response { status, headers, body: Vec::new() };
        if response.header("transfer-encoding") == Some("chunked") {
            response.body = read_chunks(&mut stream);
        } else {
            stream.read_to_end(&mut response.body).expect("the server ends its answer");
        }
        response
    }

    /// Sends it and gives the events of the answer, a stream of server-sent events, as they come.
    ///
    /// # Panics
    /// If the answer is not such a stream.
    pub fn events(&self, address: SocketAddr) -> Events {
        let mut stream = self.open(address);
        let (status, _headers) = read_head(&mut stream);
        assert_eq!(status, 200, "the stream {} opens", self.path);
        Events { stream, pending: String::new() }
    }
}

fn read_line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).expect("the server answers in time");
    line.trim_end_matches(['\r', '\n']).to_owned()
}

fn read_head(stream: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let first = read_line(stream);
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("not an HTTP status line: {first:?}"));
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream);
        let Some((name, value)) = line.split_once(':') else { return (status, headers) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_chunk(stream: &mut impl BufRead) -> Option<Vec<u8>> {
    let size = usize::from_str_radix(&read_line(stream), 16).ok().filter(|&size| size > 0)?;
    let mut chunk = vec![0; size];
    stream.read_exact(&mut chunk).expect("a whole chunk");
    read_line(stream);
    Some(chunk)
}

fn read_chunks(stream: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(chunk) = read_chunk(stream) {
        body.extend(chunk);
    }
    body
}

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Events {
    stream: BufReader<TcpStream>,
    pending: String,
}

impl Iterator for Events {
    /// The event's name and its data.
    type Item = (String, Value);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some((event, rest)) = self.pending.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = event.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
                };
                let (name, data) = (field("event"), field("data"));
                self.pending = rest.to_owned();
                if !data.is_empty() {
                    return Some((name, serde_json::from_str(&data).expect("events carry JSON")));
                }
            }
            let chunk = read_chunk(&mut self.stream)?;
            self.pending += &String::from_utf8(chunk).expect("events are UTF-8").replace('\r', "");
        }
    }
}
