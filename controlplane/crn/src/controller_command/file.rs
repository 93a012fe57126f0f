//! The topology file, as it is followed: read beside everything else, so that one that can't be read keeps nothing waiting.

use std::path::PathBuf;
use std::time::Duration;

use controller::keeper::Settled;
use controller::topology::{self, TopologyErrors};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// How long reading the file may take until that is said; it goes on.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is new about the file: its content, or why it can't be read.
pub type News = Result<Vec<u8>, TopologyErrors>;

/// Looks at a file every `poll`, and tells what is new about it; `content` is what is in force. Ends with its receiver.
pub fn follow(path: PathBuf, poll: Duration, content: Vec<u8>) -> mpsc::Receiver<News> {
    let (told, news) = mpsc::channel(1);
    tokio::spawn(look(path, poll, content, told));
    news
}

async fn look(path: PathBuf, poll: Duration, content: Vec<u8>, told: mpsc::Sender<News>) {
    let mut file = Settled::new(content);
    let mut due = tokio::time::interval(poll);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let wanted = path.clone();
        let mut reading = tokio::task::spawn_blocking(move || topology::read_octets(&wanted));
        let read = if let Ok(read) = tokio::time::timeout(PATIENCE, &mut reading).await {
            read
        } else {
            let slow = topology::too_slow(&path, PATIENCE.as_secs());
            // Twice, as everything has to be seen to count.
            let seen = [file.see(Err(slow.clone())).cloned(), file.see(Err(slow)).cloned()];
            for news in seen.into_iter().flatten() {
                if told.send(news).await.is_err() {
                    return;
                }
            }
            reading.await
        };
        // It doesn't panic.
        let Ok(found) = read else { return };
        if let Some(news) = file.see(found)
            && told.send(news.clone()).await.is_err()
        {
            return;
        }
    }
}
