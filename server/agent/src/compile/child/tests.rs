//! Attacks on the agent by a child that was taken over, and by scripts that are too much for one.

use super::*;
use crate::{
    compile::{Around, ScriptRights, compile},
    simulated::SimulatedFacts,
};

const SMALL: Limits =
    Limits { memory_bytes: 64 << 20, cpu_seconds: 1, wall: Some(Duration::from_secs(10)), threads: false, user: None };

fn script(text: &str) -> WireScript {
    WireScript { name: "test.bt".into(), text: text.into(), ..WireScript::default() }
}

#[track_caller]
fn refusal(work: impl FnOnce(Inside)) -> AgentError {
    attempt(SMALL, &SimulatedFacts, work).map(|_done| ()).unwrap_err()
}

#[test]
fn p81_a_child_that_says_anything_is_an_error_and_no_more() {
    let says = |bytes: &'static [u8]| refusal(move |mut inside| drop(inside.send(bytes)));
    for garbage in
        [&b""[..], b"{", b"null", b"{\"done\":{\"compiled\":{}}}", b"{\"done\":{\"facts\":[]},\"x\":1}", &[0xff; 100]]
    {
        let error = says(garbage);
        assert_eq!(error.kind, AgentErrorKind::Internal, "{error:?}");
        assert!(error.why.contains("an invalid answer"), "{error:?}");
    }
    // Nested as deep as no answer is.
    let deep = refusal(|mut inside| drop(inside.send("[".repeat(1 << 20).as_bytes())));
    assert_eq!(deep.kind, AgentErrorKind::Internal);
    let silent = refusal(drop);
    assert!(silent.why.contains("before its work was done"), "{silent:?}");
    let large = refusal(|mut inside| drop(inside.send(&vec![b' '; MAX_SAID_BYTES + 1])));
    assert_eq!(large.kind, AgentErrorKind::Limit, "{large:?}");
}

/// Also of one that fails: whoever asked for it pays for it.
#[test]
fn p81_what_the_child_uses_of_a_cpu_is_paid_by_its_capture() {
    let account = Spending::default();
    let refused = account.pays(|| {
        refusal(|_inside| {
            loop {
                std::hint::black_box(0);
            }
        })
    });
    assert!(refused.why.contains("longer than 1 s"), "{refused:?}");
    // The limit counts by ticks of the clock, which may run ahead of what was used.
    assert!(account.ns() >= 300_000_000, "{}", account.ns());
}

#[test]
fn p81_a_child_that_takes_too_much_is_told_with_a_remedy() {
    let eats = refusal(|_inside| {
        loop {
            std::hint::black_box(Box::leak(vec![1_u8; 1 << 20].into_boxed_slice()));
        }
    });
    assert!(eats.why.contains("more than 64 MiB of memory") && !eats.remedy.is_empty(), "{eats:?}");
    let turns = refusal(|_inside| {
        loop {
            std::hint::black_box(0);
        }
    });
    assert!(turns.why.contains("longer than 1 s") && turns.kind == AgentErrorKind::Limit, "{turns:?}");
    let connects = refusal(|_inside| drop(std::net::TcpStream::connect("127.0.0.1:1")));
    assert!(connects.why.contains("forbidden to it"), "{connects:?}");
    let deep = refusal(|_inside| {
        deeper(0);
    });
    assert_eq!(deep.kind, AgentErrorKind::Limit, "{deep:?}");
}

#[test]
fn p81_questions_are_typed_bounded_and_checked() {
    let asks = |question: Question| {
        let question = Said::Asks(question);
        attempt(SMALL, &SimulatedFacts, move |mut inside| {
            say(&mut inside, &question);
            let told = String::from_utf8(inside.receive().unwrap_or_default()).unwrap_or_default();
            say(&mut inside, &Said::Panicked(told));
        })
        .map(|_done| ())
        .unwrap_err()
    };
    for name in ["", "a b", "a\nb", &"x".repeat(600)] {
        let told = asks(Question::Symbol { name: name.to_owned() });
        assert!(told.why.contains("unsound"), "{name}: {told:?}");
    }
    assert!(asks(Question::Group { path: "a\0b".to_owned() }).why.contains("unsound"));
    let file = refusal(|mut inside| drop(inside.send(br#"{"asks":{"file":{"path":"/etc/shadow"}}}"#)));
    assert!(file.why.contains("an invalid answer"), "{file:?}");
    let endless = refusal(|mut inside| {
        loop {
            say(&mut inside, &Said::Asks(Question::Symbol { name: "x".to_owned() }));
            if inside.receive().is_err() {
                break;
            }
        }
    });
    assert!(endless.why.contains("facts about this host"), "{endless:?}");
    // One that always lacks a list does not keep the agent busy.
    let script = script("begin { exit() }");
    let job = Job::Facts(0);
    let forever = run(&job, &script, &Lacks).unwrap_err();
    assert!(forever.why.contains("an invalid answer"), "{forever:?}");
}

/// As deep as the compiler would go if it had no limit.
#[expect(unconditional_recursion, reason = "the attack")]
fn deeper(depth: u64) -> u64 {
    std::hint::black_box(deeper(std::hint::black_box(depth + 1)) + 1)
}

/// A host without a list that it is always asked for.
struct Lacks;

impl Facts for Lacks {
    fn inside<'a>(
        &'a self,
        _script: &'a WireScript,
        channel: &'a AgentChannel,
    ) -> Box<dyn bathyscope_bpf::lang::host::Host + 'a> {
        channel.lack(Missing::Functions)
    }

    fn tell(&self, _question: &Question) -> Told {
        Told::Unsound
    }

    fn read(&self, _missing: Missing) {}
}

#[test]
fn p81_a_panic_of_the_compiler_is_an_error() {
    let error = refusal(|mut inside| say(&mut inside, &Said::Panicked("index\x1b[31m 3".to_owned())));
    assert!(error.why.contains("index") && !error.why.contains('\x1b'), "{error:?}");
}

#[test]
fn p81_what_is_compiled_in_the_child_is_what_is_compiled_here() {
    let script = script("tracepoint:sched:sched_switch { @[args.next_comm] = count(); printf(\"%d\\n\", pid); }");
    let there = compile(&script, &SimulatedFacts, Around::default(), ScriptRights::Observe).unwrap();
    let host = SimulatedFacts.host(&script);
    let here = super::super::compile_here(&script, &host, Around::default()).unwrap();
    assert_eq!((there.codes, there.plan), (here.codes, here.plan));
}
