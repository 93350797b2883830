//! The task that writes: it makes one change after the other, and between them what is due.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::{
    finish::store_waiting_ends,
    writer::{Job, Writer},
};

/// How often it is looked whether the file is there while nothing is written.
const LOOK: Duration = Duration::from_secs(5);
/// How often ends that the database could not take are tried again.
const RETRY_ENDS: Duration = Duration::from_secs(1);

/// Makes changes until every [`crate::Store`] is gone or one of them closes.
pub(crate) async fn run(mut writer: Writer, mut jobs: mpsc::Receiver<Job>) {
    loop {
        let pause = if writer.ends.is_empty() { LOOK } else { RETRY_ENDS };
        let job = tokio::select! {
            biased;
            job = jobs.recv() => job,
            () = tokio::time::sleep(pause) => {
                let _told = writer.look();
                store_waiting_ends(&mut writer).await;
                continue;
            }
        };
        let Some(job) = job else { break };
        job(&mut writer).await;
        if writer.is_stopped() {
            // Those that wait are made; later ones are refused.
            jobs.close();
        }
        writer.tidy().await;
    }
    store_waiting_ends(&mut writer).await;
    writer.close().await;
}
