//! Which files of a channel, or of a checkout, the command, or anything that it started, **opened**.
//!
//! inotify sees the opening of a file in a watched folder, by whatever process of the machine: also what is mapped, read by a child
//! or reached through a link to the folder. A folder that is listed, and a file whose size is asked for, are not opened. A file that
//! the command itself makes does not count, and of a checkout none that it writes to.
//!
//! Before the command starts the probe opens a file itself. Where that is not seen, as in a folder that a network or a sandbox
//! serves, and where there are too many folders to watch, nothing is said of that channel.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use walkdir::{DirEntry, WalkDir};

use crate::probe::{CHECKOUT, MOST_NAMED};

/// The folder of all channels.
const DATA: &str = "input/data";
/// Folders, and links that are watched by themselves, of one channel: the kernel keeps memory for each.
const MOST_WATCHED: usize = 4096;
/// The most files of a checkout.
const MOST_OF_CHECKOUT: usize = 50_000;
/// For all channels: the training waits for it.
const LONGEST_WALK: Duration = Duration::from_secs(2);

/// All channels of a host that can be watched, by name.
#[derive(Default)]
pub(super) struct WatchedChannels(BTreeMap<String, Watched>);

struct Watched {
    inotify: Inotify,
    /// What is watched, from the channel's folder: folders, and files that links lead to.
    places: HashMap<WatchDescriptor, PathBuf>,
    /// From the channel's folder.
    opened: BTreeSet<PathBuf>,
    /// Made while the command ran, of many the first.
    made: BTreeSet<PathBuf>,
    /// The most files that are kept, of those opened and of those made.
    most: usize,
    /// Whether the kernel lost events: it forgets the oldest of many thousand.
    is_lossy: bool,
}

/// What a [`Watched`] folder is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchedKind {
    Channel,
    Checkout,
}

impl WatchedChannels {
    /// Those that `base`, which stands for `/opt/ml`, has as folders. None of their files has been opened.
    pub(super) fn below(base: &Path) -> Self {
        let deadline = Instant::now() + LONGEST_WALK;
        let folders = fs::read_dir(base.join(DATA)).into_iter();
        let watched = folders.flatten().flatten().filter_map(|folder| {
            let name = folder.file_name().into_string().ok()?;
            let channel = Watched::folder(&folder.path(), deadline, WatchedKind::Channel);
            Some((name, channel?))
        });
        Self(watched.collect())
    }

    /// A checkout in their place, without what is hidden or installed there.
    pub(super) fn checkout(root: &Path) -> Self {
        let watched = Watched::folder(root, Instant::now() + LONGEST_WALK, WatchedKind::Checkout);
        let named = watched.map(|watched| (CHECKOUT.to_owned(), watched));
        Self(named.into_iter().collect())
    }

    /// Files of a checkout too, under [`CHECKOUT`]. A note says where they cannot be watched. `own` is a file of this probe alone.
    pub(super) fn add_files(&mut self, files: &[PathBuf], own: &Path) -> Option<String> {
        files.first()?;
        let watched = Watched::files(files, own).map(|watched| (CHECKOUT.to_owned(), watched));
        let is_watched = watched.is_some();
        self.0.extend(watched);
        (!is_watched).then(|| {
            format!(
                "canaries can read {} files of the checkout here that `paths` leaves out, and a change of these alone is not seen",
                files.len()
            )
        })
    }

    /// Takes in what was opened since the last call.
    pub(super) fn look(&mut self) {
        self.0.retain(|_, channel| channel.look().is_ok());
    }

    /// By channel, which of its files were opened; without those of which it is not known.
    pub(super) fn opened(mut self) -> BTreeMap<String, BTreeSet<String>> {
        self.look();
        let known = self.0.into_iter();
        let known = known.filter(|(_, of)| !of.is_lossy || of.opened.len() == of.most);
        let named = |file: PathBuf| file.to_string_lossy().into_owned();
        known
            .map(|(name, of)| (name, of.opened.into_iter().map(named).collect()))
            .collect()
    }
}

impl Watched {
    /// Watches a folder and all below it; `None` where that cannot be relied on.
    fn folder(folder: &Path, deadline: Instant, kind: WatchedKind) -> Option<Self> {
        // What is moved away is used too.
        let mut mask = AddWatchFlags::IN_OPEN
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO;
        let is_checkout = kind == WatchedKind::Checkout;
        let most = match kind {
            WatchedKind::Channel => MOST_NAMED,
            WatchedKind::Checkout => MOST_OF_CHECKOUT,
        };
        // A sample that is written to was opened all the same.
        mask.set(AddWatchFlags::IN_MODIFY, is_checkout);
        let (mut watched, mut trial) = (Self::new(most)?, None);
        // What is hidden or installed is no data of a checkout.
        let is_left = |entry: &DirEntry| {
            let is_hidden = entry.file_name().as_bytes().starts_with(b".");
            entry.depth() > 0 && (is_hidden || entry.path().join("pyvenv.cfg").exists())
        };
        let entries = WalkDir::new(folder).into_iter();
        for entry in entries.filter_entry(|entry| !is_checkout || !is_left(entry)) {
            let entry = entry.ok().filter(|_| Instant::now() <= deadline)?;
            let (file_type, path) = (entry.file_type(), entry.path());
            // A file that a link leads to is opened in the folder that it lies in. Nothing is said of a channel with a link that
            // leads nowhere.
            if file_type.is_dir() || file_type.is_symlink() && (!is_checkout || path.exists()) {
                let place = path.strip_prefix(folder).ok()?.to_owned();
                let added = watched.inotify.add_watch(path, mask).ok()?;
                let named = watched.places.entry(added);
                let named = named.or_insert_with(|| place.clone());
                // A folder has its own name, not that of a link to it.
                if file_type.is_dir() {
                    *named = place;
                }
                (watched.places.len() <= MOST_WATCHED.max(most)).then_some(())?;
            }
            if trial.is_none() && path.is_file() {
                trial = Some(entry.into_path());
            }
        }
        watched.tried(&trial?)
    }

    /// Watches each of these files; `None` where that cannot be relied on. `own` lies beside them and is this probe's: another one
    /// watches them too.
    fn files(files: &[PathBuf], own: &Path) -> Option<Self> {
        let mut watched = Self::new(MOST_NAMED)?;
        for file in files.iter().map(PathBuf::as_path).chain([own]) {
            (watched.places.len() < MOST_OF_CHECKOUT).then_some(())?;
            let added = watched.inotify.add_watch(file, AddWatchFlags::IN_OPEN);
            watched.places.insert(added.ok()?, file.to_owned());
        }
        watched.tried(own)
    }

    fn new(most: usize) -> Option<Self> {
        Some(Self {
            inotify: Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok()?,
            places: HashMap::new(),
            opened: BTreeSet::new(),
            made: BTreeSet::new(),
            most,
            is_lossy: false,
        })
    }

    /// The same where the opening of a file there is seen.
    fn tried(mut self, file: &Path) -> Option<Self> {
        let _ = File::open(file);
        self.look().ok()?;
        let is_seen = !self.opened.is_empty();
        self.opened.clear();
        is_seen.then_some(self)
    }

    /// Takes in what was opened since the last call.
    fn look(&mut self) -> Result<(), Errno> {
        loop {
            let events = match self.inotify.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error),
            };
            for event in events {
                let place = self.places.get(&event.wd).cloned().unwrap_or_default();
                let file = event.name.map_or(place.clone(), |name| place.join(name));
                let is_made = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
                let is_made = is_made | AddWatchFlags::IN_MODIFY;
                let is_other = AddWatchFlags::IN_ISDIR | AddWatchFlags::IN_IGNORED;
                if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                    self.is_lossy = true;
                } else if event.mask.intersects(is_made) {
                    if event.mask.contains(AddWatchFlags::IN_MODIFY) {
                        self.opened.remove(&file);
                    }
                    if self.made.len() < self.most {
                        self.made.insert(file);
                    }
                } else if !event.mask.intersects(is_other)
                    && self.opened.len() < self.most
                    && !self.made.contains(&file)
                {
                    self.opened.insert(file);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many files of the one channel `train` are known to be opened after `use_it` had its folder.
    fn said(use_it: impl Fn(&Path)) -> Option<usize> {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("input/data/train");
        fs::create_dir_all(folder.join("deep/er")).unwrap();
        fs::write(folder.join("a.csv"), "1").unwrap();
        fs::write(folder.join("deep/er/b.csv"), "1").unwrap();
        let elsewhere = base.path().join("c.csv");
        fs::write(&elsewhere, "1").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("c.csv")).unwrap();
        // Nothing is said of a channel without files.
        fs::create_dir(base.path().join("input/data/empty")).unwrap();
        let mut channels = WatchedChannels::below(base.path());
        channels.look();
        use_it(&folder);
        channels.opened().get("train").map(BTreeSet::len)
    }

    #[test]
    fn files_that_are_opened_count_and_those_that_are_listed_or_made_do_not() {
        let opening = |name: &'static str| move |folder: &Path| drop(File::open(folder.join(name)));
        for name in ["a.csv", "deep/er/b.csv", "c.csv"] {
            assert_eq!(said(opening(name)), Some(1), "{name}");
        }
        let listing = |folder: &Path| {
            for folder in [folder, &folder.join("deep"), &folder.join("deep/er")] {
                for entry in fs::read_dir(folder).unwrap() {
                    entry.unwrap().metadata().unwrap();
                }
            }
        };
        assert_eq!(said(listing), Some(0));
        let linking = |folder: &Path| {
            let link = folder.parent().unwrap().join("link");
            std::os::unix::fs::symlink(folder, &link).unwrap();
            fs::read(link.join("deep/er/b.csv")).unwrap();
        };
        assert_eq!(said(linking), Some(1));
        let moving = |folder: &Path| fs::rename(folder.join("a.csv"), folder.join("../a")).unwrap();
        assert_eq!(said(moving), Some(1));
        let writing = |folder: &Path| {
            fs::write(folder.join("new.lock"), "1").unwrap();
            fs::read(folder.join("new.lock")).unwrap();
        };
        assert_eq!(said(writing), Some(0));
        let reading_all = |folder: &Path| {
            for name in ["a.csv", "deep/er/b.csv", "a.csv"] {
                fs::read(folder.join(name)).unwrap();
            }
        };
        assert_eq!(said(reading_all), Some(2));
    }

    #[test]
    fn a_folder_without_files_and_one_that_is_not_there_say_nothing() {
        let base = tempfile::tempdir().unwrap();
        assert!(WatchedChannels::below(base.path()).opened().is_empty());
        let later = Instant::now() + LONGEST_WALK;
        assert!(Watched::folder(base.path(), later, WatchedKind::Channel).is_none());
        fs::write(base.path().join("a.csv"), "1").unwrap();
        assert!(Watched::folder(base.path(), later, WatchedKind::Channel).is_some());
    }
}
