//! Which of the rows that were just read viewers get: some, at once, and how many they do not get.

use std::time::{Duration, Instant};

use bathyscope_capture::ShownCell;

use super::live::{LiveHub, LiveMessage};

/// The most rows in one message.
const MAX_ROWS: usize = 50;
/// The shortest time between two messages with rows.
const SHORTEST: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct Pending {
    rows: Vec<Vec<ShownCell>>,
    not_shown: u64,
}

/// Gathers rows for viewers.
#[derive(Debug)]
pub(crate) struct LiveRows {
    hub: LiveHub,
    streams: Vec<Pending>,
    next: Instant,
}

impl LiveRows {
    pub(crate) fn new(hub: LiveHub, streams: usize) -> Self {
        Self { hub, streams: (0..streams).map(|_| Pending::default()).collect(), next: Instant::now() }
    }

    /// Whether anybody looks.
    pub(crate) fn watched(&self) -> bool {
        self.hub.has_viewers()
    }

    /// A row of a stream; its cells are only made if it is shown.
    pub(crate) fn row(&mut self, stream: u16, cells: impl FnOnce() -> Vec<ShownCell>) {
        if let Some(pending) = self.streams.get_mut(usize::from(stream)) {
            if pending.rows.len() < MAX_ROWS {
                pending.rows.push(cells());
            } else {
                pending.not_shown += 1;
            }
        }
    }

    /// Sends what is there, if the last time was long enough ago or `now`. The first row after a pause goes at once.
    pub(crate) fn flush(&mut self, now: bool) {
        let ready = self.streams.iter().filter(|pending| !pending.rows.is_empty()).count();
        if ready == 0 || (!now && Instant::now() < self.next) {
            return;
        }
        // So many streams share the messages of one second.
        self.next = Instant::now() + SHORTEST * u32::try_from(ready).unwrap_or(u32::MAX);
        for (stream, pending) in self.streams.iter_mut().enumerate() {
            if let Ok(stream) = u16::try_from(stream)
                && !pending.rows.is_empty()
            {
                let Pending { rows, not_shown } = std::mem::take(pending);
                self.hub.send(LiveMessage::Rows { stream, rows, not_shown });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_row_goes_at_once_and_a_flood_is_thinned() {
        let hub = LiveHub::default();
        let mut viewer = hub.subscribe().unwrap();
        let mut rows = LiveRows::new(hub.clone(), 1);
        let cells = || vec![ShownCell::Number(1)];
        rows.row(0, cells);
        rows.flush(false);
        assert_eq!(*viewer.next().await.unwrap(), LiveMessage::Rows { stream: 0, rows: vec![cells()], not_shown: 0 });
        (0..MAX_ROWS + 7).for_each(|_| rows.row(0, cells));
        rows.flush(false);
        rows.flush(true);
        let LiveMessage::Rows { rows, not_shown, .. } = (*viewer.next().await.unwrap()).clone() else { panic!() };
        assert_eq!((rows.len(), not_shown), (MAX_ROWS, 7));
    }
}
