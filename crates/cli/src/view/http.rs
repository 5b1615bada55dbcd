//! As much of HTTP as a page for one person on this machine needs, and who may ask for what.
//!
//! The page itself says nothing and anybody may have it. What it shows needs the token, which stands in the fragment of the
//! address that is printed once: no request, log or Referer ever contains a fragment. `Host` must be ours, or a page elsewhere could
//! point its own name at this machine; `Origin`, if there is one, as well. Nothing is ever changed, so there is nothing to forge.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub const MOST_HEADER: usize = 8 << 10;
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What of a request matters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    pub method: String,
    pub path: String,
    pub host: Option<String>,
    pub origin: Option<String>,
    pub authorization: Option<String>,
}

/// Reads the head of a request; None if it is too long, too slow or none at all.
pub fn read_head(stream: &mut TcpStream) -> Option<Head> {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while begun.elapsed() < PATIENCE && bytes.len() <= MOST_HEADER {
        let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&piece[..n]);
        if let Some(head) = parse(&bytes) {
            return head;
        }
    }
    None
}

/// None as long as it is not whole; None within if it is none.
fn parse(bytes: &[u8]) -> Option<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Err(_) => return Some(None),
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
    }
    let header = |name: &str| {
        let mut found = request.headers.iter().filter(|h| h.name.eq_ignore_ascii_case(name));
        let first = found.next().map(|h| String::from_utf8_lossy(h.value).into_owned());
        // Two of a kind are neither.
        if found.next().is_some() { Some(String::new()) } else { first }
    };
    Some(Some(Head {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        host: header("host"),
        origin: header("origin"),
        authorization: header("authorization"),
    }))
}

/// Who may ask.
pub struct Rules {
    pub port: u16,
    pub token: String,
    /// Always, but for the test that shows what this is good for.
    pub checks_host: bool,
}

/// What a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Page,
    Script,
    Style,
    Snapshot,
    Events,
    Refused(u16),
}

impl Rules {
    pub fn answer(&self, head: &Head) -> Answer {
        let ours = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_host = |host: &String| ours.contains(host);
        if self.checks_host && !head.host.as_ref().is_some_and(is_host) {
            return Answer::Refused(421);
        }
        let is_origin = |origin: &String| {
            origin.strip_prefix("http://").is_some_and(|host| ours.iter().any(|o| o == host))
        };
        if head.origin.as_ref().is_some_and(|origin| !is_origin(origin)) {
            return Answer::Refused(403);
        }
        if head.method != "GET" {
            return Answer::Refused(405);
        }
        let shown = match head.path.as_str() {
            "/" => return Answer::Page,
            "/view.js" => return Answer::Script,
            "/view.css" => return Answer::Style,
            "/snapshot" => Answer::Snapshot,
            "/events" => Answer::Events,
            _ => return Answer::Refused(404),
        };
        let given = head.authorization.as_deref().and_then(|given| given.strip_prefix("Bearer "));
        match given.is_some_and(|given| is_same(given.as_bytes(), self.token.as_bytes())) {
            true => shown,
            false => Answer::Refused(401),
        }
    }
}

/// In a time that does not tell where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |found, (a, b)| found | (a ^ b)) == 0
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The head of an answer; without a length it goes on until the connection ends.
pub fn write_head(
    stream: &mut TcpStream,
    status: u16,
    kind: &str,
    length: Option<usize>,
) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    let length = length.map_or_else(String::new, |n| format!("Content-Length: {n}\r\n"));
    let allow = if status == 405 { "Allow: GET\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{length}{allow}Connection: close\r\nCache-Control: no-store\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

pub fn write(stream: &mut TcpStream, status: u16, kind: &str, body: &str) -> io::Result<()> {
    write_head(stream, status, kind, Some(body.len()))?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(checks_host: bool) -> Rules {
        Rules { port: 4000, token: "t0ken".to_owned(), checks_host }
    }

    fn head(path: &str, host: &str, origin: Option<&str>, token: Option<&str>) -> Head {
        Head {
            method: "GET".to_owned(),
            path: path.to_owned(),
            host: Some(host.to_owned()),
            origin: origin.map(str::to_owned),
            authorization: token.map(|token| format!("Bearer {token}")),
        }
    }

    /// A page elsewhere whose name was pointed at this machine, and that has come by the token.
    fn rebound() -> Head {
        head("/snapshot", "evil.example:4000", None, Some("t0ken"))
    }

    #[test]
    fn who_may_ask_for_what() {
        let rules = rules(true);
        let ours = "127.0.0.1:4000";
        assert_eq!(rules.answer(&head("/", ours, None, None)), Answer::Page);
        assert_eq!(rules.answer(&head("/snapshot", ours, None, Some("t0ken"))), Answer::Snapshot);
        let local = head("/events", "localhost:4000", Some("http://localhost:4000"), Some("t0ken"));
        assert_eq!(rules.answer(&local), Answer::Events);
        for token in [None, Some("t0keN"), Some("t0ke"), Some("")] {
            assert_eq!(rules.answer(&head("/snapshot", ours, None, token)), Answer::Refused(401));
        }
        assert_eq!(rules.answer(&rebound()), Answer::Refused(421));
        for host in ["127.0.0.1", "127.0.0.1:4001", "localhost:4000.evil.example", ""] {
            assert_eq!(rules.answer(&head("/", host, None, None)), Answer::Refused(421));
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4000", ""] {
            let asked = head("/snapshot", ours, Some(origin), Some("t0ken"));
            assert_eq!(rules.answer(&asked), Answer::Refused(403));
        }
        let posted =
            Head { method: "POST".to_owned(), ..head("/snapshot", ours, None, Some("t0ken")) };
        assert_eq!(rules.answer(&posted), Answer::Refused(405));
        assert_eq!(
            rules.answer(&head("/etc/passwd", ours, None, Some("t0ken"))),
            Answer::Refused(404)
        );
    }

    /// What the test above is good for.
    #[test]
    fn without_a_look_at_the_host_another_page_gets_in() {
        assert_eq!(rules(false).answer(&rebound()), Answer::Snapshot);
    }

    #[test]
    fn heads_are_parsed_whole_or_not() {
        let text = b"GET /events HTTP/1.1\r\nHost: a\r\nHost: b\r\nAuthorization: Bearer x\r\n\r\n";
        let parsed = parse(text).flatten().expect("a head");
        assert_eq!((parsed.host.as_deref(), parsed.path.as_str()), (Some(""), "/events"));
        assert!(parse(&text[..20]).is_none());
        assert_eq!(parse(b"\x16\x03\x01\x02\x00"), Some(None));
    }
}
