//! Tools of BCC that the library does not have and that are a short script: made here, with what their words say in it.

use super::{Arguments, interval, of_script, seconds_of};
use crate::{
    answer::{Refusal, Result},
    call::{Call, Step},
    options::{Rule, Takes},
};

const PID: Rule = Rule::taken(&["-p", "--pid"], Takes::Value);
const LOOK: Rule = Rule::ignored(
    &["-T", "-t", "--timestamp", "-j", "--csv", "-C", "--noclear", "--json"],
    Takes::Nothing,
    "it is about how the tool prints",
);
const ROWS: Rule = Rule::ignored(&["-r", "--maxrows"], Takes::Value, "tables are sorted and cut where they are shown");
const HELP: Rule = Rule::refused(
    &["-h", "--help"],
    Takes::Nothing,
    "It is about the tool itself.",
    "The page Tools says what each tool shows.",
);
const SUMS: &[Rule] = &[PID, LOOK, ROWS, HELP];
const SLOWER: &[Rule] = &[PID, LOOK, HELP];
const STACKS: &[Rule] = &[
    PID,
    HELP,
    Rule::ignored(&["-f", "--folded", "-d", "--delimited"], Takes::Nothing, "the flame graph can be exported"),
    Rule::ignored(&["--stack-storage-size", "-n", "-s"], Takes::Value, "stacks are kept whole"),
];

/// What a tool's words without an option are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// Seconds between two tables, and how many of them.
    Interval,
    /// The least time in milliseconds, in place of `MS` in the script.
    Least,
    /// How many seconds.
    Duration,
}

/// A tool: its name, options, words, and script. A script that prints a table every so often has `SECONDS` in it.
struct Made {
    name: &'static str,
    rules: &'static [Rule],
    words: Words,
    script: &'static str,
}

const CACHESTAT: &str = r#"kprobe:folio_mark_accessed { @accessed++; }
kprobe:mark_buffer_dirty { @buffers++; }
kprobe:filemap_add_folio { @added++; }
tracepoint:writeback:writeback_dirty_folio { @dirtied++; }
interval:s:SECONDS {
  $total = @accessed > @buffers ? @accessed - @buffers : 0;
  $misses = @added > @dirtied ? @added - @dirtied : 0;
  $hits = $total > $misses ? $total - $misses : 0;
  printf("total %ld hits %ld misses %ld dirtied %ld\n", $total, $hits, $misses, @buffers);
  @accessed = 0; @buffers = 0; @added = 0; @dirtied = 0;
}"#;

const DCSTAT: &str = r#"kprobe:lookup_fast { @references = count(); }
kprobe:d_lookup { @slow = count(); }
kretprobe:d_lookup /retval == 0/ { @misses = count(); }
interval:s:SECONDS { print(@references); print(@slow); print(@misses); clear(@references); clear(@slow); clear(@misses); }"#;

const VFSSTAT: &str = r#"kprobe:vfs_read, kprobe:vfs_write, kprobe:vfs_fsync, kprobe:vfs_open, kprobe:vfs_create,
kprobe:vfs_unlink, kprobe:vfs_mkdir, kprobe:vfs_rmdir { @calls[func] = count(); }
interval:s:SECONDS { print(@calls); clear(@calls); }"#;

const BIOTOP: &str = r#"tracepoint:block:block_rq_issue {
  @issued[args.dev, args.sector] = nsecs;
  @by[args.dev, args.sector] = args.comm;
}
tracepoint:block:block_rq_complete /@issued[args.dev, args.sector]/ {
  $by = @by[args.dev, args.sector];
  @requests[$by, args.rwbs] = count();
  @bytes[$by, args.rwbs] = sum(args.nr_sector * 512);
  @us[$by, args.rwbs] = avg((nsecs - @issued[args.dev, args.sector]) / 1000);
  delete(@issued, (args.dev, args.sector));
  delete(@by, (args.dev, args.sector));
}
interval:s:SECONDS { print(@bytes); print(@requests); print(@us); clear(@bytes); clear(@requests); clear(@us); }
end { clear(@issued); clear(@by); }"#;

const FILELIFE: &str = r#"tracepoint:syscalls:sys_enter_openat /args.flags & 0x40/ { @born[str(args.filename)] = nsecs; }
tracepoint:syscalls:sys_enter_unlink, tracepoint:syscalls:sys_enter_unlinkat {
  $path = str(args.pathname);
  $born = @born[$path];
  if ($born != 0) {
    printf("%-7ld %-16s %8ld ms %s\n", pid, comm, (nsecs - $born) / 1000000, $path);
    delete(@born, $path);
  }
}
end { clear(@born); }"#;

const SLOWER_FILES: &str = r#"tracepoint:syscalls:sys_enter_read, tracepoint:syscalls:sys_enter_write,
tracepoint:syscalls:sys_enter_pread64, tracepoint:syscalls:sys_enter_pwrite64 {
  @begun[tid] = nsecs;
  @fd[tid] = args.fd;
}
tracepoint:syscalls:sys_exit_read, tracepoint:syscalls:sys_exit_write,
tracepoint:syscalls:sys_exit_pread64, tracepoint:syscalls:sys_exit_pwrite64 /@begun[tid]/ {
  $us = (nsecs - @begun[tid]) / 1000;
  if ($us >= MS * 1000) {
    $task = (struct task_struct *)curtask;
    $opened = *($task->files->fdt->fd + @fd[tid]);
    if (str($opened->f_inode->i_sb->s_type->name) == "SYSTEM") {
      printf("%-7ld %-16s %8ld bytes %8ld us %s\n", pid, comm, args.ret, $us, str($opened->f_path.dentry->d_name.name));
    }
  }
  delete(@begun, tid);
  delete(@fd, tid);
}
end { clear(@begun); clear(@fd); }"#;

const LOCKS: &str = r#"tracepoint:lock:contention_begin { @begun[tid, args.lock_addr] = nsecs; }
tracepoint:lock:contention_end /@begun[tid, args.lock_addr]/ {
  $ns = nsecs - @begun[tid, args.lock_addr];
  @ns[kstack] = sum($ns);
  @waits[kstack] = count();
  @longest_ns[kstack] = max($ns);
  delete(@begun, (tid, args.lock_addr));
}
end { clear(@begun); }"#;

const OFFWAKETIME: &str = r#"tracepoint:sched:sched_wakeup { @waker[args.pid] = comm; @woken_by[args.pid] = kstack; }
tracepoint:sched:sched_switch {
  if (args.prev_pid != 0) {
    @left[args.prev_pid] = nsecs;
    @stack[args.prev_pid] = kstack;
  }
  $left = @left[args.next_pid];
  if ($left != 0) {
    @us[args.next_comm, @stack[args.next_pid], @waker[args.next_pid], @woken_by[args.next_pid]] = sum((nsecs - $left) / 1000);
    delete(@left, args.next_pid);
    delete(@stack, args.next_pid);
    delete(@waker, args.next_pid);
    delete(@woken_by, args.next_pid);
  }
}
end { clear(@left); clear(@stack); clear(@waker); clear(@woken_by); }"#;

const MADE: &[Made] = &[
    Made { name: "cachestat", rules: SUMS, words: Words::Interval, script: CACHESTAT },
    Made { name: "dcstat", rules: SUMS, words: Words::Interval, script: DCSTAT },
    Made { name: "vfsstat", rules: SUMS, words: Words::Interval, script: VFSSTAT },
    Made { name: "biotop", rules: SUMS, words: Words::Interval, script: BIOTOP },
    Made { name: "filelife", rules: SUMS, words: Words::Interval, script: FILELIFE },
    Made { name: "ext4slower", rules: SLOWER, words: Words::Least, script: SLOWER_FILES },
    Made { name: "xfsslower", rules: SLOWER, words: Words::Least, script: SLOWER_FILES },
    Made { name: "btrfsslower", rules: SLOWER, words: Words::Least, script: SLOWER_FILES },
    Made { name: "nfsslower", rules: SLOWER, words: Words::Least, script: SLOWER_FILES },
    Made { name: "klockstat", rules: STACKS, words: Words::Duration, script: LOCKS },
    Made { name: "offwaketime", rules: STACKS, words: Words::Duration, script: OFFWAKETIME },
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MADE.iter().map(|one| one.name)
}

/// The options of one; none if none is called so.
pub(super) fn rules(name: &str) -> Option<(&'static str, &'static [Rule])> {
    MADE.iter().find(|one| one.name == name).map(|one| (one.name, one.rules))
}

/// The capture of one.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(name: &str, arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    let Some(made) = MADE.iter().find(|one| one.name == name) else {
        return Err(Refusal::new(call.source(), format!("there is no script for {name}"), "Write one."));
    };
    let words = arguments.operands.as_slice();
    let (script, duration_ms) = match made.words {
        Words::Interval => {
            let seconds = match words.first().map(seconds_of).transpose()? {
                Some(ms) if ms >= 1000 => ms / 1000,
                _ => 1,
            };
            // An interval that the script has is no word without a meaning.
            let total = if words.len() > 1 { interval(arguments, call)? } else { None };
            (made.script.replace("SECONDS", &seconds.to_string()), total)
        }
        Words::Least => {
            let least = match words.first() {
                None => 10,
                Some(word) => word.plain()?.parse::<u32>().map_err(|_no_number| {
                    Refusal::new(
                        word.source.clone(),
                        format!("`{}` is no number of milliseconds", word.text),
                        "Write a whole number, or 0 for all.",
                    )
                })?,
            };
            let system = name.strip_suffix("slower").unwrap_or(name);
            (made.script.replace("MS", &least.to_string()).replace("SYSTEM", system), None)
        }
        Words::Duration => (made.script.to_owned(), words.first().map(seconds_of).transpose()?),
    };
    of_script(script, arguments, duration_ms, call)
}

/// The script that sums waits for locks of the kernel, for `perf lock`.
pub(crate) const LOCK_CONTENTION: &str = LOCKS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_one() {
        for made in MADE {
            let text = made.script.replace("SECONDS", "1").replace("MS", "10");
            assert!(
                bathyscope_bpf::lang::parse(&text).is_ok(),
                "{}: {:?}",
                made.name,
                bathyscope_bpf::lang::parse(&text)
            );
        }
    }
}
