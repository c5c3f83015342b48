//! A **cure**: other words of a local job's `command`, which may mend the first error of its canaries and can be tried.

/// The variable that names a channel's folder, with `_` for each sign that the name of a variable cannot have.
pub fn channel_variable(channel: &str) -> String {
    let sign = |c: char| !c.is_ascii_alphanumeric();
    format!("SM_CHANNEL_{}", channel.to_uppercase().replace(sign, "_"))
}

/// Where a local canary finds the data of a channel, and SageMaker puts them; `data` is their path in the checkout, which for a
/// folder may end with `/`.
pub fn channel_path(channel: &str, data: &str) -> String {
    in_channel(&format!("/opt/ml/input/data/{channel}"), data)
}

/// The data that lie at a path in the checkout, from the folder of their channel: one file where its name ends as a file's does.
fn in_channel(folder: &str, data: &str) -> String {
    let name = data.rsplit('/').next().unwrap_or(data);
    match name.rsplit_once('.') {
        Some((_, ending)) if ending.contains(|c: char| c.is_ascii_alphabetic()) => {
            format!("{folder}/{name}")
        }
        _ => folder.to_owned(),
    }
}

/// The step of a shell that links the data of a channel to where a script reads them, from the copy of its source. `None` where
/// that is no plain path, but for blanks.
pub fn link(channel: &str, place: &str) -> Option<String> {
    if place.is_empty() || place.starts_with(['-', '/']) || !is_plain(&place.replace(' ', "")) {
        return None;
    }
    let from = in_channel(&format!("${}", channel_variable(channel)), place);
    let place = place.trim_end_matches('/').replace(' ', "\\ ");
    let made = match place.rsplit_once('/') {
        None | Some(("..", _)) => String::new(),
        Some((folder, _)) => format!("mkdir -p {folder} && "),
    };
    Some(format!("{made}ln -s \"{from}\" {place} && "))
}

/// Whether a shell takes a word as it is written.
pub fn is_plain(word: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "._-/=:,@+".contains(c);
    word.chars().all(is_sign)
}

/// A command, in words, behind the steps of [`link`] and in a folder of the copy. `None` where there are neither steps nor a folder,
/// and where the folder is no plain word.
pub fn behind(folder: &str, steps: &str, command: &[String]) -> Option<Vec<String>> {
    if steps.is_empty() && folder.is_empty() || command.is_empty() || !is_plain(folder) {
        return None;
    }
    let shell = |text: &str| ["sh", "-c", text, "sh"].map(str::to_owned);
    let moved = match folder {
        "" => steps.to_owned(),
        _ => format!("cd {folder} && {steps}"),
    };
    // An empty word is gone in a shell's text.
    let is_seen = |word: &String| !word.is_empty() && is_plain(word);
    if !folder.is_empty() && command.iter().all(is_seen) {
        return Some(shell(&format!("{moved}exec {} \"$@\"", command.join(" "))).to_vec());
    }
    Some([&shell(&format!("{moved}exec \"$@\""))[..], command].concat())
}
