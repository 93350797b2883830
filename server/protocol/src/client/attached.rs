//! Asking for the BPF programs of everybody.

use super::{
    AgentClient, ClientError,
    call::{self, TypedRequest},
};
use crate::{BpfLink, BpfProgram};

/// The most programs or links that are asked for.
const MAX_LISTED: usize = 16 << 10;

/// A list that comes in pages.
struct Paged<T> {
    ask: fn(u32) -> TypedRequest<(Vec<T>, bool)>,
    id: fn(&T) -> u32,
}

impl AgentClient {
    /// The BPF programs that the kernel has loaded, whoever did it, ascending by number.
    ///
    /// # Errors
    /// If the agent may not look at them, or the connection breaks.
    pub fn bpf_programs(&mut self) -> Result<Vec<BpfProgram>, ClientError> {
        self.pages(&Paged { ask: call::bpf_programs, id: |program| program.id })
    }

    /// What holds BPF programs where they are attached, ascending by number.
    ///
    /// # Errors
    /// As [`AgentClient::bpf_programs`].
    pub fn bpf_links(&mut self) -> Result<Vec<BpfLink>, ClientError> {
        self.pages(&Paged { ask: call::bpf_links, id: |link| link.id })
    }

    fn pages<T>(&mut self, list: &Paged<T>) -> Result<Vec<T>, ClientError> {
        let mut all: Vec<T> = Vec::new();
        loop {
            let after = all.last().map_or(0, list.id);
            let call = (list.ask)(after);
            let name = call.name;
            let (page, more) = self.ask(call)?;
            // A page that does not lead on would be asked for without end.
            if more && page.last().is_none_or(|last| (list.id)(last) <= after) {
                return Err(self.wrong_reply(name));
            }
            all.extend(page);
            if !more || all.len() >= MAX_LISTED {
                all.truncate(MAX_LISTED);
                return Ok(all);
            }
        }
    }
}
