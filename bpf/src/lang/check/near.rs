//! Hints about names that are none ("did you mean"), within bounds.
//!
//! For such a hint a name is compared with all that there are, of which the kernel has a hundred thousand. A script may have
//! thousands of wrong names, and a body is checked several times, so the hint about a name is made once, and for no more names
//! than people read messages about.

use std::{cell::RefCell, collections::HashMap};

use crate::lang::limits::MAX_DIAGNOSTICS;

/// For how many names of a script hints are made.
const MAX_LOOKS: usize = 2 * MAX_DIAGNOSTICS;

/// The hints that were made, by what the name should be one of, and the name.
#[derive(Default)]
pub(super) struct NameHints {
    made: RefCell<HashMap<(String, String), String>>,
}

impl NameHints {
    /// What `make` says about `name`, which should be a name of `what`: `function`, `member of task_struct`. Of the same
    /// name in the same place it says the same.
    pub(super) fn about(&self, what: &str, name: &str, make: impl FnOnce() -> String) -> String {
        let key = (what.to_owned(), name.to_owned());
        if let Some(made) = self.made.borrow().get(&key) {
            return made.clone();
        }
        if self.made.borrow().len() >= MAX_LOOKS {
            return String::new();
        }
        let hint = make();
        self.made.borrow_mut().insert(key, hint.clone());
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn hints_are_made_once_and_not_for_more_names_than_are_read() {
        let (hints, made) = (NameHints::default(), Cell::new(0));
        let hint = |what: &str, name: &str| {
            hints.about(what, name, || {
                made.set(made.get() + 1);
                format!("{what} {name}")
            })
        };
        for _pass in 0..3 {
            assert_eq!(hint("function", "vfs_raed"), "function vfs_raed");
            assert_eq!(hint("type", "vfs_raed"), "type vfs_raed");
        }
        assert_eq!(made.get(), 2);
        for number in 0..1000 {
            hint("function", &format!("vfs_read{number}"));
        }
        assert_eq!(made.get(), MAX_LOOKS);
        assert_eq!(hint("function", "vfs_raed"), "function vfs_raed", "what was made before is said on");
        assert_eq!(hint("function", "vfs_reda"), "");
    }
}
