//! Lines that people know, and what is wrong with others.

use proptest::prelude::*;

use super::*;

fn shown(line: &str) -> String {
    match parse_sysdig_filter(line) {
        Ok(SysdigFilter { target, calls }) => {
            let target = target.map_or_else(|| "anybody".to_owned(), |target| target.to_string());
            let left = calls.filter.as_deref().unwrap_or("-");
            let below = calls.below.map(|it| format!("{} {}: ", if it.direct { "made by" } else { "below" }, it.pid));
            let target = below.unwrap_or_default() + &target;
            format!("{target}|{}|{:?}|{}|{left}", calls.calls.join(","), calls.outcome, calls.min_duration_ns)
        }
        Err(error) => format!("{}: {}", error.offset, error.why),
    }
}

#[test]
fn lines_that_people_know_are_understood() {
    let cases = [
        ("", "anybody||Any|0|-"),
        ("proc.name=redis-server and evt.type=open", "threads called redis-server|open|Any|0|-"),
        ("proc.name = \"a name\" and (evt.type=open or evt.type=close)", "threads called a name|open,close|Any|0|-"),
        ("evt.type in (open, openat, 'close')", "anybody|open,openat,close|Any|0|-"),
        ("evt.type!=futex", "anybody|!futex|Any|0|-"),
        ("not evt.type in (futex,poll)", "anybody|!futex,poll|Any|0|-"),
        ("not (evt.type=futex or evt.type=poll) and evt.failed=true", "anybody|!futex,poll|Failed|0|-"),
        ("evt.failed=false and evt.latency>1000000 and proc.pid=7", "pid 7||Succeeded|1000001|-"),
        ("evt.latency.ms >= 20", "anybody||Any|20000000|-"),
        ("user.name=www-data and evt.dir=<", "user www-data||Any|0|-"),
        ("container.name=web", "container web||Any|0|-"),
        ("proc.name contains java", "threads called *java*||Any|0|-"),
        ("proc.name=a-name-of-20-letters", "threads called a-name-of-20-le||Any|0|-"),
        ("proc.ppid=7 and evt.type=read", "made by 7: anybody|read|Any|0|-"),
        ("proc.apid=7", "below 7: anybody||Any|0|-"),
    ];
    for (line, expected) in cases {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn what_the_kernel_cannot_decide_is_left_to_be_decided_behind_it() {
    // The line itself where something of it is left; the rest is what every call that it asks for has.
    let cases = [
        ("proc.name=a or evt.type=open", "anybody||Any|0|all"),
        ("not proc.name=a", "anybody||Any|0|all"),
        ("proc.name=a and proc.pid=3", "threads called a||Any|0|all"),
        ("(evt.type=open and proc.pid=3) or (evt.type=close and proc.pid=3)", "pid 3|open,close|Any|0|all"),
        ("evt.latency > 5 or evt.latency.us > 7", "anybody||Any|6|all"),
        ("evt.type=read and evt.buffer contains GET", "anybody|read|Any|0|all"),
        ("proc.apid=7 and not proc.ppid=7", "below 7: anybody||Any|0|all"),
        ("evt.failed=true or evt.failed=false", "anybody||Any|0|all"),
        ("container.name=web or proc.pid=3", "anybody||Any|0|all"),
        ("user.name=ada or proc.pid=3", "anybody||Any|0|all"),
        ("not user.name in (root, ada) and evt.type=open", "anybody|open|Any|0|all"),
        ("container.image startswith nginx", "anybody||Any|0|all"),
        ("container.id!=host and not container.name=web", "anybody||Any|0|all"),
        ("container.name=web and container.image=nginx:1.27", "container web||Any|0|all"),
        ("thread.cgroup contains user.slice", "anybody||Any|0|all"),
    ];
    for (line, expected) in cases {
        let expected = expected.replace("|all", &format!("|{line}"));
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn what_says_what_descriptors_are_is_recorded_where_that_is_asked() {
    let made = parse_sysdig_filter("evt.type=read and fd.name=/etc/hosts and evt.failed=false").unwrap().calls;
    assert!(["read", "openat", "close", "execve", "connect"].iter().all(|name| made.calls.iter().any(|it| it == name)));
    assert_eq!((made.outcome, made.filter.is_some(), made.path), (SyscallOutcome::Any, true, None));
    let made = parse_sysdig_filter("not evt.type in (futex, close) and fd.port=80").unwrap().calls;
    assert_eq!(made.calls, ["!futex"]);
}

#[test]
fn what_cannot_be_decided_is_refused_at_its_place() {
    let cases = [
        ("proc.name=a and fd.sip=1.2.3", "16: `1.2.3` is no address"),
        ("evt.type in open", "12: `in` takes a list in parentheses"),
        ("(evt.type=open", "14: a `)` is missing"),
        ("evt.type=open evt.failed=true", "14: it continues where its end was expected"),
        ("proc.name='a", "10: a quotation has no end"),
        ("proc.name", "9: an operator such as `=` is missing"),
        ("proc.pid=x", "0: `x` is no number"),
        ("evt.failed=maybe", "0: `maybe` is neither `true` nor `false`"),
        ("evt.type=open and proc.nmae=x", "18: `proc.nmae` is no field that is known here"),
        ("container.size=1", "0: `container.size` is no field that is known here"),
        ("fd.name like x", "8: `like` is no operator"),
        ("fd.name > 3", "0: a text has no order"),
        ("evt.dir=up", "0: `evt.dir` is `<` or `>`"),
        ("evt.type='open,close'", "0: `open,close` is no name of a call"),
        ("evt.type=open and evt.type=close", "0: no system call satisfies all of its conditions"),
    ];
    for (line, expected) in cases {
        assert_eq!(shown(line), expected, "{line}");
    }
    assert!(shown(&"(".repeat(100)).contains("nested too deeply"));
    assert!(shown(&"x".repeat(5000)).contains("5000 bytes"));
}

/// A call that reads from a connection.
struct Made;

impl CallFacts for Made {
    fn values(&self, field: &Field) -> Vec<String> {
        let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        match field {
            Field::Type => of(&["recvfrom"]),
            Field::Category => of(&["net"]),
            Field::Failed => of(&["false"]),
            Field::Latency(_) => of(&["2500"]),
            Field::Buffer => of(&["GET /Index HTTP/1.1"]),
            Field::FileName => of(&["/etc/hostname", "/srv/data"]),
            Field::FileDirectory => of(&["/etc", "/srv"]),
            Field::ServerPort | Field::Port => of(&["80"]),
            Field::ServerAddress => of(&["::1"]),
            Field::ProcessName => of(&["a-name-of-20-le"]),
            Field::ProcessId => of(&["42"]),
            Field::AncestorId => of(&["7", "1"]),
            _ => Vec::new(),
        }
    }
}

#[test]
fn conditions_are_met_as_sysdig_meets_them() {
    let cases = [
        ("evt.type=recvfrom", true),
        ("evt.type in (read, recvfrom)", true),
        ("evt.type != recvfrom", false),
        ("evt.type in (%net)", true),
        ("fd.name=/etc/host", false),
        ("fd.name=/srv/data", true),
        ("fd.name startswith /etc/host", true),
        ("fd.name endswith name", true),
        ("fd.directory=/", false),
        ("fd.directory=/etc", true),
        ("fd.name pmatch (/var, /srv)", true),
        ("fd.name pmatch (/sr)", false),
        ("fd.name glob /s?[q-s]/*", false),
        ("fd.name glob /s[q-s]?/d*a", true),
        ("fd.name glob *[!a-z]ata", false),
        ("fd.name glob /srv[*", false),
        ("fd.name iglob /SRV/*", true),
        ("evt.buffer contains get", false),
        ("evt.buffer icontains get", true),
        ("evt.latency > 2500", false),
        ("evt.latency >= 2500", true),
        ("evt.latency.us < 3", true),
        ("evt.latency.us = 2", false),
        ("fd.sport = 080", true),
        ("fd.sip = 0:0::1", true),
        ("fd.cport = 80", false),
        ("fd.cport != 80", false),
        ("not fd.cport = 80", true),
        ("fd.cport exists", false),
        ("fd.sport exists", true),
        ("proc.name=a-name-of-20-letters", true),
        ("proc.apid=7 and not proc.apid=8", true),
        ("evt.dir=> and evt.dir=<", true),
        ("evt.failed=0 or thread.tid=9", true),
        ("evt.failed=1 or proc.pid intersects (41, 42)", true),
        ("(evt.failed=true or proc.pid=42) and not (fd.port=443 or evt.category=file)", true),
    ];
    let expand = |set: &str| if set == "%net" { vec!["recvfrom".to_owned()] } else { Vec::new() };
    for (line, expected) in cases {
        let filter = CallFilter::new(line, &expand).unwrap().unwrap();
        assert_eq!(filter.holds(&Made), expected, "{line}");
    }
    assert_eq!(CallFilter::new(" ", &expand), Ok(None));
    assert!(CallFilter::new("proc.aname=x or evt.type=y", &expand).unwrap().unwrap().asks_for_family());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(line in ".{0,200}") {
        if let Err(error) = parse_sysdig_filter(&line) {
            prop_assert!(error.offset <= line.len());
        }
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec("proc.name|evt.type|=|!=|and|or|not|in|\\(|\\)|,|a|7|\"|é", 0..30)) {
        let line = words.join(" ");
        if let Err(error) = parse_sysdig_filter(&line) {
            prop_assert!(error.offset <= line.len());
        }
    }
}
