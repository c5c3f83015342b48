//! Folders and files of data.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::path::Path;

use super::text::pattern;
use crate::console::files;
use crate::grammar::count;
use crate::rows::{BEGINNING, RowFormat};
use crate::units::Bytes;

/// A file of the checkout, known by its name and size alone.
#[derive(Debug, Clone)]
pub(super) struct SeenFile {
    /// Relative to the spec's folder.
    pub(super) path: String,
    pub(super) bytes: Bytes,
}

/// Where data lies.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FoundData {
    /// A folder, or one file.
    pub(super) path: String,
    pub(super) files: usize,
    pub(super) bytes: Bytes,
    /// The ending of its first file, without the dot.
    pub(super) ending: String,
    /// Whether all of it lies in folders of it, such as one for each class.
    pub(super) is_by_folder: bool,
    /// Whether a file of it lists the others, or its files have several endings and so belong together.
    pub(super) belongs_together: bool,
    /// Whether a watched command opened some of it, or would most likely have.
    pub(super) is_opened: bool,
    /// Whether its first bytes are rows, whatever its name says.
    begins_with_rows: bool,
    /// Whether it names other files of data, as a list of samples does.
    lists_others: bool,
    /// Whether the command was ended before it opened all of it, if it would.
    pub(super) is_guessed: bool,
    /// Single files in folders of it, from its folder, without which the command may not do.
    pub(super) always: Vec<String>,
}

/// In a folder with no more files than this, each file is data by itself.
const FEW: usize = 3;
/// The fewest files of which a canary gets some whole; of fewer it gets rows.
pub(super) const FEWEST_FILES: usize = 10;

impl FoundData {
    /// Whether rows can be drawn of its files.
    pub(super) fn has_rows(&self) -> bool {
        self.begins_with_rows || RowFormat::of_name(&format!(".{}", self.ending)).is_ok()
    }

    /// `120 files .csv, 3.4 MB`
    pub(super) fn said(&self) -> String {
        let files = count(self.files, "file");
        format!("{files} .{}, {}", self.ending, self.bytes)
    }

    /// Whether it is one file, and no folder.
    pub(super) fn is_file(&self) -> bool {
        self.files == 1 && self.path.ends_with(&format!(".{}", self.ending))
    }

    /// Whether one of them is the other, or lies in it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|data| format!("{}/", data.path));
        one.starts_with(&other) || other.starts_with(&one)
    }

    /// What of the data it is, by its last name: `train`, `test`, ...
    pub(super) fn name(&self) -> &str {
        let last = name_of(&self.path);
        last.split('.').next().unwrap_or(last)
    }

    /// Training data come first, then tables, which may list other files, then the larger ones.
    fn rank(&self) -> (u8, bool, std::cmp::Reverse<u64>) {
        let name = self.name().to_lowercase();
        let is = |names: &[&str]| names.iter().any(|known| name.contains(known));
        let rank = if self.lists_others {
            0
        } else if is(&["test", "val", "eval", "dev", "sample"]) {
            4
        } else if self.is_opened && self.is_file() && pattern("labels").is_match(&name) {
            0
        } else if name.contains("train") {
            1
        } else if self.path.split('/').any(|part| part == "processed") {
            2
        } else {
            3
        };
        let ranks_as_table = self.is_opened || self.has_rows();
        (rank, !ranks_as_table, std::cmp::Reverse(self.bytes.0))
    }
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder that a path lies in; empty at the root.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The ending of a file's name, in small letters.
pub(super) fn ending(path: &str) -> Option<String> {
    let (stem, ending) = name_of(path).rsplit_once('.')?;
    (!stem.is_empty()).then(|| ending.to_lowercase())
}

/// Whether a file may hold data, by its name.
fn is_data(path: &str) -> bool {
    let has_rows = ending(path).is_some() && RowFormat::of_name(path).is_ok();
    (has_rows || pattern("object").is_match(path)) && !pattern("no_data").is_match(path)
}

/// The folders on the way to a file, the outermost first.
pub(super) fn folders_to(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

/// Of the folders on the way to a file the deepest that is called as parts of data are (`train`), else the deepest that the script
/// names, which may have a folder for each class below it, else the last.
fn home_of(path: &str, is_named: impl Fn(&str) -> bool) -> &str {
    let part = pattern("part").find(path);
    let part = part.map(|part| folder_of(part.as_str()));
    let named = || folders_to(path).rfind(|folder| is_named(folder));
    part.or_else(named).unwrap_or(folder_of(path))
}

/// The folders and files that hold data, the likeliest training data first; `is_named` knows the paths that the script names.
pub(super) fn data_folders(files: &[SeenFile], is_named: impl Fn(&str) -> bool) -> Vec<FoundData> {
    let is_list = pattern("listing");
    let lists = files.iter().filter(|file| is_list.is_match(&file.path));
    let listed = HashSet::<&str>::from_iter(lists.map(|file| folder_of(&file.path)));
    let mut homes: BTreeMap<&str, Vec<&SeenFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_data(&file.path)) {
        let home = folders_to(&file.path).find(|folder| listed.contains(folder));
        let home = home.unwrap_or_else(|| home_of(&file.path, &is_named));
        homes.entry(home).or_default().push(file);
    }
    let mut found = Vec::new();
    for (home, files) in homes {
        let is_listed = listed.contains(home);
        let is_read_whole = is_named(home) && !files.iter().any(|file| is_named(&file.path));
        // The root is no folder of data.
        if home.is_empty() || files.len() <= FEW && !is_listed && !is_read_whole {
            found.extend(files.iter().map(|file| data_of(&file.path, &[file])));
            continue;
        }
        let is_common = |folder: &&str| {
            let is_above = |file: &&SeenFile| folders_to(&file.path).any(|one| one == *folder);
            files.iter().all(is_above)
        };
        let deepest = folders_to(&files[0].path).rfind(is_common).unwrap_or(home);
        // What a script looks through by itself is no link: most ways to do so follow none.
        let is_home = is_listed || is_named(home) && !is_named(deepest);
        found.push(FoundData {
            belongs_together: is_listed,
            ..data_of(if is_home { home } else { deepest }, &files)
        });
    }
    found.sort_by_key(FoundData::rank);
    found
}

/// Of those that a command may open.
pub(super) fn is_opened_data(file: &&SeenFile) -> bool {
    let is_code = pattern("opened_code").is_match(&file.path);
    is_data(&file.path) || file.path.contains('/') && ending(&file.path).is_some() && !is_code
}

/// Whether a folder, by its name or its place, has a part of the data or one kind of them, and is no class beside others.
pub(super) fn is_kind(folder: &str) -> bool {
    folder_of(folder).is_empty() || pattern("kind_of_data").is_match(name_of(folder))
}

/// Looks at the beginnings of files that are data by themselves: whether they have rows, and whether these name others of `seen`, as
/// a list of samples does, which is drawn in their place.
pub(super) fn look_into_files(found: &mut [FoundData], folder: &Path, seen: &[SeenFile]) {
    let names = seen.iter().filter(is_opened_data).flat_map(|file| {
        let name = name_of(&file.path);
        [name, name.rsplit_once('.').map_or(name, |(stem, _)| stem)]
    });
    let names = HashSet::<_>::from_iter(names.filter(|name| name.contains(char::is_alphabetic)));
    let files = found.iter_mut().filter(|data| data.is_file());
    for data in files.take(FEWEST_FILES) {
        let mut beginning = Vec::new();
        let file = files::open_plain(&folder.join(&data.path));
        // What cannot be read has no rows.
        let _ = file.and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
        data.begins_with_rows = RowFormat::has_lines(&beginning);
        let text = String::from_utf8_lossy(&beginning);
        let words = text.split(|c: char| !c.is_alphanumeric() && !"._-".contains(c));
        let named = HashSet::<_>::from_iter(words.filter(|word| names.contains(word)));
        data.lists_others = data.has_rows() && named.len() >= FEWEST_FILES;
    }
    found.sort_by_key(|data| data.rank().0);
}

/// The data among the files that a command opened: those of a folder together, with folders beside it that are classes; a few each by
/// themselves.
pub(super) fn opened_data<'a>(files: impl Iterator<Item = &'a SeenFile>) -> Vec<FoundData> {
    let files = Vec::from_iter(files.filter(is_opened_data));
    let folders = BTreeSet::from_iter(files.iter().map(|file| folder_of(&file.path)));
    let mut homes: BTreeMap<&str, Vec<&SeenFile>> = BTreeMap::new();
    for file in files {
        let own = folder_of(&file.path);
        let above = folder_of(own);
        let is_beside = |other: &&str| *other != own && folder_of(other) == above;
        let mut below = folders
            .range(above..)
            .take_while(|one| one.starts_with(above));
        let is_class = !is_kind(own) && below.any(is_beside);
        let home = if is_class { above } else { own };
        homes.entry(home).or_default().push(file);
    }
    let mut found: Vec<FoundData> = Vec::new();
    for (home, files) in homes {
        let is_drawn = !home.is_empty() && files.len() >= FEWEST_FILES;
        let mut around = found.iter_mut();
        // A channel in another one could not be linked to its place.
        match around.find(|outer| folders_to(home).any(|folder| folder == outer.path)) {
            Some(outer) if is_drawn => {
                let inner = data_of(home, &files);
                (outer.is_by_folder, outer.belongs_together) = (false, true);
                outer.bytes = outer.bytes + inner.bytes;
                outer.files += inner.files;
            }
            Some(outer) => {
                let inside = |file: &&SeenFile| file.path[outer.path.len() + 1..].to_owned();
                outer.always.extend(files.iter().map(inside));
            }
            None if is_drawn => found.push(data_of(home, &files)),
            None => found.extend(files.iter().map(|file| data_of(&file.path, &[file]))),
        }
    }
    found.iter_mut().for_each(|data| data.is_opened = true);
    found.sort_by_key(FoundData::rank);
    found
}

fn data_of(path: &str, files: &[&SeenFile]) -> FoundData {
    let first = files.first().and_then(|file| ending(&file.path));
    FoundData {
        path: path.to_owned(),
        files: files.len(),
        bytes: files.iter().map(|file| file.bytes).sum(),
        belongs_together: files.iter().any(|file| ending(&file.path) != first),
        ending: first.unwrap_or_default(),
        is_by_folder: (files.iter()).all(|file| folder_of(folder_of(&file.path)) == path),
        ..FoundData::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Vec<(String, usize)> {
        let seen: Vec<SeenFile> = (files.iter())
            .map(|path| SeenFile {
                path: (*path).to_owned(),
                bytes: Bytes(1000),
            })
            .collect();
        let found = data_folders(&seen, |_| false).into_iter();
        found.map(|found| (found.path, found.files)).collect()
    }

    #[test]
    fn training_data_come_first_and_classes_are_one_folder() {
        let classes = ["cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.jpg"];
        let files: Vec<String> = ["val", "train"]
            .iter()
            .flat_map(|part| classes.map(|class| format!("data/{part}/{class}")))
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(
            paths(&files),
            [("data/train".to_owned(), 4), ("data/val".to_owned(), 4)]
        );
    }

    #[test]
    fn a_single_file_is_data_and_what_belongs_to_the_project_is_not() {
        assert_eq!(
            paths(&[
                "iris.csv",
                "requirements.txt",
                "docs/a.png",
                "src/train.py",
                "data/.gitkeep"
            ]),
            [("iris.csv".to_owned(), 1)]
        );
    }
}
