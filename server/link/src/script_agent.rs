//! The agent, as a script session asks it: over a connection of its own (`trace`) or over the console's.

use bathyscope_protocol::{AgentClient, ClientError};

use crate::{AgentLink, LinkError};

/// A way to ask the agent. Calls block.
pub trait ScriptAgent {
    /// Runs `ask` with the connection.
    ///
    /// # Errors
    /// What the agent refused with, or that it cannot be reached.
    fn call<T: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError>;
}

impl ScriptAgent for AgentClient {
    fn call<T: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError> {
        Ok(ask(self)?)
    }
}

/// Never to be used from asynchronous code.
impl ScriptAgent for AgentLink {
    fn call<T: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError> {
        self.call_blocking(ask)
    }
}

impl<A: ScriptAgent> ScriptAgent for &mut A {
    fn call<T: Send + 'static>(
        &mut self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError> {
        (**self).call(ask)
    }
}
