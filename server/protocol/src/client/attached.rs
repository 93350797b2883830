//! Asking for the BPF programs of everybody.

use super::{AgentClient, CALL_TIMEOUT, ClientError};
use crate::{BpfLink, BpfProgram, Reply, Request};

/// The most programs or links that are asked for.
const MAX_LISTED: usize = 16 << 10;

/// A list that comes in pages.
struct Paged<T> {
    name: &'static str,
    ask: fn(u32) -> Request,
    take: fn(Reply) -> Option<(Vec<T>, bool)>,
    id: fn(&T) -> u32,
}

impl AgentClient {
    /// The BPF programs that the kernel has loaded, whoever did it, ascending by number.
    ///
    /// # Errors
    /// If the agent may not look at them, or the connection breaks.
    pub fn bpf_programs(&mut self) -> Result<Vec<BpfProgram>, ClientError> {
        self.pages(&Paged {
            name: "bpf_programs",
            ask: |after| Request::BpfPrograms { after },
            take: |reply| match reply {
                Reply::BpfPrograms { programs, more } => Some((programs, more)),
                _other => None,
            },
            id: |program| program.id,
        })
    }

    /// What holds BPF programs where they are attached, ascending by number.
    ///
    /// # Errors
    /// As [`AgentClient::bpf_programs`].
    pub fn bpf_links(&mut self) -> Result<Vec<BpfLink>, ClientError> {
        self.pages(&Paged {
            name: "bpf_links",
            ask: |after| Request::BpfLinks { after },
            take: |reply| match reply {
                Reply::BpfLinks { links, more } => Some((links, more)),
                _other => None,
            },
            id: |link| link.id,
        })
    }

    fn pages<T>(&mut self, list: &Paged<T>) -> Result<Vec<T>, ClientError> {
        let mut all: Vec<T> = Vec::new();
        loop {
            let after = all.last().map_or(0, list.id);
            let (reply, _none) = self.call(&(list.ask)(after), CALL_TIMEOUT)?;
            let Some((page, more)) = (list.take)(reply) else { return Err(self.wrong_reply(list.name)) };
            // A page that does not lead on would be asked for without end.
            if more && page.last().is_none_or(|last| (list.id)(last) <= after) {
                return Err(self.wrong_reply(list.name));
            }
            all.extend(page);
            if !more || all.len() >= MAX_LISTED {
                all.truncate(MAX_LISTED);
                return Ok(all);
            }
        }
    }
}
