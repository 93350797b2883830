//! Keys and what they change, and what is drawn, on a screen in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use bathyscope_link::activity::{Activity, HostActivity, ProcessActivity, Usage};
use bathyscope_views::{ReportRow, ReportValue, SampleReport, SampleUnit};
use ratatui_core::{backend::TestBackend, buffer::Cell, terminal::Terminal};

use super::{
    data::{SampledLine, TopData},
    keys::{Key, keys},
    look::counted,
    rows::rows,
    screen,
    state::{Action, TopState, TopTable},
    tables::tables,
};

fn function(name: &str, is_kernel: bool, own: u64, total: u64) -> SampledLine {
    let module = if is_kernel { "[kernel.kallsyms]" } else { "/usr/bin/x" };
    SampledLine { name: name.to_owned(), module: module.to_owned(), is_kernel, pid: 0, own, total, samples: own }
}

fn sampled(name: &str, pid: u64, own: u64) -> SampledLine {
    SampledLine { name: name.to_owned(), pid, own, total: own, samples: own, ..SampledLine::default() }
}

fn process(pid: u32, comm: &str, cpu_permille: u64, memory_bytes: u64) -> ProcessActivity {
    ProcessActivity {
        pid,
        comm: comm.to_owned(),
        user: "www".to_owned(),
        container: (pid == 7).then(|| "web".to_owned()),
        state: "R".to_owned(),
        threads: 4,
        usage: Usage { cpu_permille, memory_bytes, faults_per_s: 12, read_bytes_per_s: 4096, written_bytes_per_s: 0 },
        ..ProcessActivity::default()
    }
}

fn data() -> TopData {
    let host = HostActivity {
        cpus: 4,
        cpu_permille: 314,
        running: 2,
        blocked: 1,
        load: [0.5, 0.25, 0.125],
        memory_bytes: 8 << 30,
        memory_available_bytes: 6 << 30,
        ..HostActivity::default()
    };
    let activity = Activity {
        interval_ms: 1000,
        host,
        processes_total: 210,
        processes_unread: 0,
        processes: vec![process(7, "nginx", 900, 64 << 20), process(9, "postgres", 50, 512 << 20)],
        users_total: 0,
        users: Vec::new(),
        containers_total: 0,
        containers: Vec::new(),
        disks_total: 0,
        disks: Vec::new(),
        networks_total: 0,
        networks: Vec::new(),
    };
    TopData {
        event: "cpu-clock".to_owned(),
        elapsed_s: 12.0,
        unit: "samples",
        samples: 100,
        weight: 100,
        lost: 3,
        own_cpu_permille: 12.0,
        agent_cpu_permille: 4.0,
        functions: vec![
            function("main", false, 0, 90),
            function("parse", false, 60, 80),
            function("vfs_read", true, 30, 30),
        ],
        processes: vec![sampled("nginx", 7, 90), sampled("postgres", 9, 10)],
        activity: Some(activity),
        ..TopData::default()
    }
}

/// Presses keys as a terminal sends them; gives what they asked for.
fn press(state: &mut TopState, data: &TopData, bytes: &str) -> Vec<Action> {
    let press = |key: Key| {
        let count = rows(state, data).len();
        let action = state.key(key, data, count);
        state.fit(rows(state, data).len());
        action
    };
    keys(bytes.as_bytes()).into_iter().filter_map(press).collect()
}

fn names(state: &TopState, data: &TopData) -> String {
    let all = rows(state, data);
    all.iter().map(|row| row.cells.last().unwrap().as_str()).collect::<Vec<_>>().join(", ")
}

#[test]
fn keys_sort_filter_and_zoom() {
    let data = data();
    let cases: [(&str, &str); 9] = [
        ("", "[.] parse, [k] vfs_read, [.] main"),
        ("s", "[.] main, [.] parse, [k] vfs_read"),
        ("S", "[.] main, [.] parse, [k] vfs_read"),
        ("r", "[.] main, [k] vfs_read, [.] parse"),
        ("/VFS\r", "[k] vfs_read"),
        ("/kernel\r", "[k] vfs_read"),
        ("2", "nginx, postgres"),
        ("3s", "postgres, nginx (web)"),
        ("\t\t\t", "[.] parse, [k] vfs_read, [.] main"),
    ];
    for (typed, expected) in cases {
        let mut state = TopState::default();
        press(&mut state, &data, typed);
        assert_eq!(names(&state, &data), expected, "{typed:?}");
    }
}

#[test]
fn a_process_is_zoomed_into_and_left_again() {
    let data = data();
    let mut state = TopState::default();
    assert_eq!(press(&mut state, &data, "3\x1b[B\r"), [Action::Look]);
    assert_eq!((state.zoom.clone(), state.table), (Some((9, "postgres".to_owned())), TopTable::Functions));
    // The filter is taken back first; then the process; then nothing is left.
    assert_eq!(press(&mut state, &data, "/x\r"), []);
    let escape = "\x1b";
    assert_eq!((press(&mut state, &data, escape), state.filter.as_str()), (vec![], ""));
    assert_eq!((press(&mut state, &data, escape), state.zoom.clone()), (vec![Action::Look], None));
    assert_eq!(press(&mut state, &data, escape), []);
    // A function is no process.
    assert_eq!(press(&mut state, &data, "\r"), []);
}

#[test]
fn keys_that_end_freeze_and_count_anew() {
    let data = data();
    let mut state = TopState::default();
    assert_eq!(press(&mut state, &data, "fwz"), [Action::Look, Action::Zero]);
    assert!(state.is_frozen);
    // What is typed into the filter is no key, but Ctrl-C is.
    assert_eq!(press(&mut state, &data, "/q"), []);
    assert_eq!(press(&mut state, &data, "\x03"), [Action::Quit]);
    assert_eq!(press(&mut TopState::default(), &data, "q"), [Action::Quit]);
    let mut helped = TopState::default();
    assert_eq!(press(&mut helped, &data, "?x"), []);
    assert!(!helped.has_help);
    let mut moved = TopState { page: 2, ..TopState::default() };
    for (typed, selected) in [("jj", 2), ("j", 2), ("k", 1), ("g", 0), ("\x1b[6~", 2), ("\x1b[5~", 0), ("G", 2)] {
        press(&mut moved, &data, typed);
        assert_eq!(moved.selected, selected, "{typed:?}");
    }
}

/// The screen as text.
fn drawn(state: &mut TopState, data: &TopData, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let all = rows(state, data);
    terminal.draw(|frame| screen::draw(frame, state, data, &all)).unwrap();
    let cells = terminal.backend().buffer().content();
    let line = |row: &[Cell]| {
        let line: String = row.iter().map(Cell::symbol).collect();
        format!("{}\n", line.trim_end())
    };
    cells.chunks(usize::from(width)).map(line).collect()
}

/// Compares with a golden file; writes it if `BLESS=1` is in the environment.
fn golden(name: &str, found: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/top").join(name);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name}; run with BLESS=1 if the change is wanted");
}

#[test]
fn screens_look_as_they_did() {
    let data = data();
    let none = TopData { absent: "the agent is gone".to_owned(), ..TopData::default() };
    let guarded = TopData { guard: "thinned: 6 % of a CPU".to_owned(), ..data.clone() };
    for (name, typed, data, width, height) in [
        ("functions.txt", "", &data, 100, 12),
        ("sampled.txt", "2j", &data, 100, 10),
        ("processes.txt", "3s", &data, 120, 10),
        ("zoomed.txt", "2\r/pa\rf", &data, 100, 10),
        ("typing.txt", "/par", &data, 80, 10),
        ("nothing-found.txt", "/zzz\r", &data, 80, 8),
        ("help.txt", "?", &data, 80, 24),
        ("narrow.txt", "", &guarded, 40, 8),
        ("nothing.txt", "3", &none, 80, 8),
    ] {
        let mut state = TopState::default();
        press(&mut state, data, typed);
        golden(name, &drawn(&mut state, data, width, height));
    }
    golden("tables.txt", &tables(&data));
}

#[test]
fn any_size_and_any_keys_can_be_drawn() {
    let data = data();
    for (width, height) in [(1, 1), (3, 2), (10, 4), (400, 2), (2, 60)] {
        for typed in ["", "?", "/a", "3", "2\r"] {
            let mut state = TopState::default();
            press(&mut state, &data, typed);
            drawn(&mut state, &data, width, height);
        }
    }
}

#[test]
fn both_tables_are_made_of_one_count() {
    let row = |pid: u64, module: &str, name: &str, (own, total): (u64, u64)| ReportRow {
        values: vec![
            ReportValue::Thread { id: pid, comm: format!("p{pid}") },
            ReportValue::Module(module.to_owned()),
            ReportValue::Function { name: name.to_owned(), is_kernel: module.starts_with('[') },
        ],
        own,
        samples: own,
        total,
        chains: Vec::new(),
    };
    let other = ReportRow { values: vec![ReportValue::Other; 3], ..row(0, "", "", (5, 5)) };
    let rows = vec![
        row(7, "/bin/a", "main", (10, 40)),
        row(7, "[k]", "read", (30, 30)),
        row(9, "[k]", "read", (55, 55)),
        other,
    ];
    let report = SampleReport { unit: SampleUnit::Samples, samples: 100, total: 100, deepest: 2, rows };
    let told = |zoom| {
        let mut data = TopData::default();
        counted(&report, zoom, &mut data);
        let words = |lines: &[SampledLine]| {
            let word = |line: &SampledLine| format!("{} {} {} {}", line.name, line.pid, line.own, line.total);
            lines.iter().map(word).collect::<Vec<_>>().join(", ")
        };
        (words(&data.functions), words(&data.processes), data.samples, data.weight)
    };
    let all = ("read 0 85 85, main 0 10 40, [others] 0 5 5", "p9 9 55 55, p7 7 40 40, [others] 0 5 5");
    assert_eq!(told(None), (all.0.to_owned(), all.1.to_owned(), 100, 100));
    let one = ("main 0 10 40, read 0 30 30", "p7 7 40 40");
    assert_eq!(told(Some(7)), (one.0.to_owned(), one.1.to_owned(), 40, 40));
}
