//! Whether the command, or anything that it started, **opened** a file of a channel.
//!
//! inotify sees the opening of a file in a watched folder, by whatever process of the machine: also what is mapped, read by a child
//! or reached through a link to the folder. A folder that is listed, and a file whose size is asked for, are not opened.
//!
//! Before the command starts the probe opens a file itself. Where that is not seen, as in a folder that a network or a sandbox
//! serves, and where there are too many folders to watch, nothing is said of any channel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use serde::Deserialize;

use super::container_host::config;

/// What SageMaker says of the channels, below its folder.
const CHANNELS: &str = "input/config/inputdataconfig.json";
const DATA: &str = "input/data";
/// The one mode in which a channel is a folder of files that are there before the command starts.
const FILE_MODE: &str = "File";
/// Folders, and links that are watched by themselves, of one channel: the kernel keeps memory for each.
const MOST_WATCHED: usize = 4096;
/// For all channels: the training waits for it.
const LONGEST_WALK: Duration = Duration::from_secs(2);

/// All channels of a host, by name.
#[derive(Default)]
pub(super) struct WatchedChannels(BTreeMap<String, Sight>);

enum Sight {
    Watched(Inotify),
    Opened,
    Unknown,
}

impl WatchedChannels {
    /// Those that `base`, which stands for `/opt/ml`, has in File mode. None of them has been opened.
    pub(super) fn below(base: &Path) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct ChannelConfig {
            training_input_mode: String,
        }
        let channels: BTreeMap<String, ChannelConfig> = config(base, CHANNELS).unwrap_or_default();
        let deadline = Instant::now() + LONGEST_WALK;
        let watched = channels.into_iter().map(|(name, channel)| {
            let sight = match channel.training_input_mode == FILE_MODE {
                true => watch(&base.join(DATA).join(&name), deadline),
                false => None,
            };
            (name, sight.map_or(Sight::Unknown, Sight::Watched))
        });
        Self(watched.collect())
    }

    /// Takes in what was opened since the last call. The kernel forgets the oldest of many thousand events.
    pub(super) fn look(&mut self) {
        for sight in self.0.values_mut() {
            if let Sight::Watched(inotify) = sight {
                *sight = match opened(inotify) {
                    Ok(false) => continue,
                    Ok(true) => Sight::Opened,
                    Err(_) => Sight::Unknown,
                };
            }
        }
    }

    /// By channel, whether a file of it was opened; `None` where that is not known of each.
    pub(super) fn opened(mut self) -> Option<BTreeMap<String, bool>> {
        self.look();
        let known = self.0.into_iter().map(|(name, sight)| match sight {
            Sight::Watched(_) => Some((name, false)),
            Sight::Opened => Some((name, true)),
            Sight::Unknown => None,
        });
        let known: Option<BTreeMap<_, _>> = known.collect();
        known.filter(|all| !all.is_empty())
    }
}

/// Watches a folder and all below it; `None` where that cannot be relied on.
fn watch(folder: &Path, deadline: Instant) -> Option<Inotify> {
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?;
    // What is moved away is used too.
    let mask = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_MOVED_FROM;
    let (mut open, mut watched, mut trial) = (vec![folder.to_owned()], 0, None::<PathBuf>);
    while let Some(next) = open.pop() {
        let mut watch = |path: &Path| {
            watched += 1;
            (watched <= MOST_WATCHED).then(|| inotify.add_watch(path, mask).ok())?
        };
        watch(&next)?;
        for entry in fs::read_dir(&next).ok()? {
            if Instant::now() > deadline {
                return None;
            }
            let entry = entry.ok()?;
            let (kind, path) = (entry.file_type().ok()?, entry.path());
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            if kind.is_symlink() {
                // A file is opened in the folder that it lies in.
                watch(&path)?;
            }
            if trial.is_none() && path.is_file() {
                trial = Some(path);
            }
        }
    }
    let _ = File::open(trial?);
    let is_seen = opened(&inotify).ok()?;
    is_seen.then_some(inotify)
}

/// Whether a file was opened since the last call.
fn opened(inotify: &Inotify) -> Result<bool, Errno> {
    let (mut was_opened, mut is_lost) = (false, false);
    loop {
        match inotify.read_events() {
            Ok(events) => {
                for mask in events.iter().map(|event| event.mask) {
                    let other = AddWatchFlags::IN_ISDIR | AddWatchFlags::IN_IGNORED;
                    match mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                        true => is_lost = true,
                        false => was_opened |= !mask.intersects(other),
                    }
                }
            }
            Err(Errno::EAGAIN) if is_lost && !was_opened => return Err(Errno::EOVERFLOW),
            Err(Errno::EAGAIN) => return Ok(was_opened),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the one channel `train` after `use_it` had its folder.
    fn said(mode: &str, use_it: impl Fn(&Path)) -> Option<bool> {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("input/data/train");
        fs::create_dir_all(folder.join("deep/er")).unwrap();
        fs::create_dir_all(base.path().join("input/config")).unwrap();
        fs::write(folder.join("a.csv"), "1").unwrap();
        fs::write(folder.join("deep/er/b.csv"), "1").unwrap();
        let elsewhere = base.path().join("c.csv");
        fs::write(&elsewhere, "1").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("c.csv")).unwrap();
        let config = format!(r#"{{"train": {{"TrainingInputMode": "{mode}"}}}}"#);
        fs::write(base.path().join(CHANNELS), config).unwrap();
        let mut channels = WatchedChannels::below(base.path());
        channels.look();
        use_it(&folder);
        Some(channels.opened()?["train"])
    }

    #[test]
    fn a_file_that_is_opened_is_seen_and_one_that_is_listed_is_not() {
        let opening = |name: &'static str| move |folder: &Path| drop(File::open(folder.join(name)));
        for name in ["a.csv", "deep/er/b.csv", "c.csv"] {
            assert_eq!(said("File", opening(name)), Some(true), "{name}");
        }
        let listing = |folder: &Path| {
            for folder in [folder, &folder.join("deep"), &folder.join("deep/er")] {
                for entry in fs::read_dir(folder).unwrap() {
                    entry.unwrap().metadata().unwrap();
                }
            }
        };
        assert_eq!(said("File", listing), Some(false));
        let linking = |folder: &Path| {
            let link = folder.parent().unwrap().join("link");
            std::os::unix::fs::symlink(folder, &link).unwrap();
            fs::read(link.join("deep/er/b.csv")).unwrap();
        };
        assert_eq!(said("File", linking), Some(true));
        let moving = |folder: &Path| fs::rename(folder.join("a.csv"), folder.join("../a")).unwrap();
        assert_eq!(said("File", moving), Some(true));
        assert_eq!(said("FastFile", listing), None);
    }

    #[test]
    fn a_folder_without_files_and_one_that_is_not_there_say_nothing() {
        let base = tempfile::tempdir().unwrap();
        assert!(WatchedChannels::below(base.path()).opened().is_none());
        let later = Instant::now() + LONGEST_WALK;
        assert!(watch(base.path(), later).is_none());
        fs::write(base.path().join("a.csv"), "1").unwrap();
        assert!(watch(base.path(), later).is_some());
    }
}
