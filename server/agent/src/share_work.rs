//! Work that several threads do together.

use crate::spending::Spending;

/// Does `work` in this thread and in others beside it, `threads` in all, and returns when all of them are done. `work` takes the
/// next of what there is to do until there is nothing more, so it is done whole even if no other thread can be started. It is
/// on the account of who asked for it.
pub(crate) fn share_work(threads: usize, name: &str, work: impl Fn() + Sync) {
    let (account, work) = (Spending::of_here(), &work);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let account = account.clone();
            let started = std::thread::Builder::new().name(name.to_owned());
            // Without a thread more, those that there are take longer.
            let _none = started.spawn_scoped(scope, move || account.pays(work));
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[test]
    fn all_threads_work_at_once_and_on_one_account() {
        let (account, together, runs) = (Spending::default(), Barrier::new(3), AtomicUsize::new(0));
        account.pays(|| {
            share_work(3, "test", || {
                // Nobody gets past this alone.
                together.wait();
                runs.fetch_add(1, Ordering::Relaxed);
                // What is started for it is on its account too.
                Spending::of_here().add(1_000_000_000);
            });
        });
        assert_eq!(runs.into_inner(), 3);
        assert!(account.ns() >= 3_000_000_000, "{}", account.ns());
    }

    #[test]
    fn one_thread_works_alone() {
        let runs = AtomicUsize::new(0);
        for threads in [0, 1] {
            share_work(threads, "test", || {
                runs.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(runs.into_inner(), 2);
    }
}
