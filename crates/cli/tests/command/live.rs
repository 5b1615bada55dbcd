//! The page about a run: who gets what, over plain sockets.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::{Folder, finish, signal, wait_until};

const PROGRAM: &str = "[assume mu (normal 0 1)] [assume \"<b>s\" 1] [observe (normal mu 1) 0.3]
    tag: [predict mu] [infer (mh default one 20)]";

struct Served {
    child: Child,
    port: u16,
    token: String,
}

/// Starts a command that serves a page, and reads where.
fn served(folder: &Folder, args: &[&str]) -> Served {
    let mut child = folder.start(args, Stdio::null());
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = loop {
        let line = lines.next().expect("it says where").expect("text");
        if line.contains("http://") {
            break line;
        }
    };
    let address = line.split("http://127.0.0.1:").nth(1).expect("on this machine");
    let (port, token) = address.trim().split_once("/#").expect("a token in the fragment");
    // What else it says must not fill the pipe.
    let token = token.to_owned();
    let kept = token.clone();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            assert!(!line.contains(&kept), "the token is shown once");
        }
    });
    Served { child, port: port.parse().expect("a port"), token }
}

impl Served {
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("written");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// GET with headers.
    fn get(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let mut request = format!("GET {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: {host}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.ask(&(request + "\r\n"))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn stop(self) {
        signal("INT", self.child.id());
        assert_eq!(finish(self.child).code, Some(130));
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn run_folder() -> Folder {
    let folder = Folder::with_program(&PROGRAM.replace("[assume \"<b>s\" 1]", ""));
    let args = ["sample", "m.smg", "--seed", "1", "--chains", "2", "--warmup", "50"];
    folder.call(&[&args[..], &["--draws", "300", "--out", "m.run"]].concat()).good();
    folder
}

#[test]
fn only_who_has_the_token_and_comes_from_here_sees_anything() {
    let folder = run_folder();
    let served = served(&folder, &["view", "m.run"]);
    let bearer = served.bearer();
    let page = served.get("/", &[]);
    assert_eq!(status(&page), "200");
    assert!(!page.contains(&served.token) && page.contains("default-src 'none'"), "{page}");
    for header in ["no-store", "nosniff", "no-referrer", "frame-ancestors 'none'"] {
        assert!(page.contains(header), "{header}");
    }
    let good = [("Authorization", bearer.as_str())];
    let snapshot = served.get("/snapshot", &good);
    assert_eq!(status(&snapshot), "200");
    let body = snapshot.split("\r\n\r\n").nth(1).expect("a body");
    let json: Json = serde_json::from_str(body).expect("JSON");
    assert_eq!(json["finished"], true);
    assert_eq!(json["chains"][1]["draws"], 300);
    assert_eq!(json["numbers"][0]["name"], "tag");
    assert!(json["numbers"][0]["rhat"].as_f64().is_some_and(|rhat| rhat < 1.2), "{body}");
    assert_eq!(status(&served.get("/snapshot", &[])), "401");
    assert_eq!(status(&served.get("/snapshot", &[("Authorization", "Bearer 00")])), "401");
    let rebound = [("Host", "evil.example"), good[0]];
    assert_eq!(status(&served.get("/snapshot", &rebound)), "421");
    let foreign = [("Origin", "http://evil.example"), good[0]];
    assert_eq!(status(&served.get("/snapshot", &foreign)), "403");
    let post = format!(
        "POST /snapshot HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {bearer}\r\n\r\n",
        served.port
    );
    assert_eq!(status(&served.ask(&post)), "405");
    assert_eq!(status(&served.get("/../run.json", &good)), "404");
    let long = "x".repeat(10_000);
    assert_ne!(status(&served.get("/", &[("X-Long", &long)])), "200");
    assert_eq!(status(&served.ask("nonsense\r\n\r\n")), "400");
    served.stop();
}

#[test]
fn a_run_is_watched_while_it_goes_on_and_readers_that_leave_are_forgotten() {
    let folder = Folder::with_program(&PROGRAM.replace("[assume \"<b>s\" 1]", ""));
    let args = ["sample", "m.smg", "--seed", "1", "--chains", "2", "--warmup", "50", "--live"];
    let args = [&args[..], &["--draws", "100000000", "--out", "m.run"]].concat();
    let served = served(&folder, &args);
    let request = format!(
        "GET /events HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: {}\r\n\r\n",
        served.port,
        served.bearer()
    );
    let mut counts = Vec::new();
    {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("written");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        for line in lines {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let json: Json = serde_json::from_str(data).expect("JSON");
            assert_eq!(json["finished"], false);
            counts.push(json["chains"][0]["draws"].as_u64().expect("a count"));
            let points = json["numbers"][0]["traces"][0].as_array().map_or(0, Vec::len);
            assert!(points <= 400, "{points}");
            if counts.len() >= 4 && counts.last() > counts.first() {
                break;
            }
        }
    }
    assert!(counts.is_sorted(), "{counts:?}");
    // More readers than there is room for, all of which leave without a word.
    let readers: Vec<_> = (0..12)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("it listens");
            stream.write_all(request.as_bytes()).expect("written");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    drop(readers);
    let threads = || {
        let path = format!("/proc/{}/task", served.child.id());
        let names = std::fs::read_dir(path).into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("comm"));
        names.filter_map(|entry| name(entry).ok()).filter(|name| name.trim() == "view").count()
    };
    let begun = Instant::now();
    assert!(wait_until(|| threads() == 0), "threads stay");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    served.stop();
}

#[test]
fn what_is_no_run_folder_is_not_shown() {
    let folder = Folder::with_program(PROGRAM);
    folder.call(&["view", "none.run"]).fails(1, &["none.run"]);
    folder.call(&["view", "m.smg"]).fails(1, &["m.smg"]);
    folder.call(&["sample", "m.smg", "--live"]).fails(2, &["--live", "NAME.run"]);
}
