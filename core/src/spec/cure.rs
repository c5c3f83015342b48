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
/// that is no plain path.
pub fn link(channel: &str, place: &str) -> Option<String> {
    if place.is_empty() || place.starts_with(['-', '/']) || !is_plain(place) {
        return None;
    }
    let from = in_channel(&format!("${}", channel_variable(channel)), place);
    let place = place.trim_end_matches('/');
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
/// where the command is a shell with steps of its own, and where a word is not plain.
pub fn behind(folder: &str, steps: &str, command: &[String]) -> Option<Vec<String>> {
    let has_steps = command.get(1).is_some_and(|word| word == "-c");
    if steps.is_empty() && folder.is_empty() || command.is_empty() || has_steps {
        return None;
    }
    let shell = |text: &str| ["sh", "-c", text, "sh"].map(str::to_owned);
    if folder.is_empty() {
        return Some([&shell(&format!("{steps}exec \"$@\""))[..], command].concat());
    }
    let are_plain = is_plain(folder) && command.iter().all(|word| is_plain(word));
    let text = format!("cd {folder} && {steps}exec {} \"$@\"", command.join(" "));
    are_plain.then(|| shell(&text).to_vec())
}
