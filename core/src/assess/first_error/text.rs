//! How what a canary printed ends: the lines in which an error is named.

/// More of a line is not looked at.
const LINE: usize = 2_000;
/// Lines of a part of the log.
const LINES: usize = 200;
/// Paths of a line.
const PATHS: usize = 8;
/// The most characters of a name that is quoted.
const NAME: usize = 60;

/// What others print after a traceback that ended the program.
const AFTERWARDS: [&str; 10] = [
    "sagemaker-training-toolkit",
    "sagemaker_training",
    "ExecuteUserScriptError",
    "ExitCode ",
    "ErrorMessage ",
    "Command \"",
    "canary-gate",
    "CUDA kernel errors might",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING",
    "Compile with `TORCH_USE_CUDA_DSA`",
];
/// What Python prints before the places of an error.
const TRACEBACK: &str = "Traceback (most recent call last):";
/// What Python prints between an error and the one that it led to.
const LEADS_TO: [&str; 2] = [
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
];
/// What a shell or a tool says of a file.
const NO_FILE: [&str; 4] = [
    "no such file",
    "not found",
    "does not exist",
    "could not open",
];
/// What PyTorch, JAX and TensorFlow say; without regard to case.
const GPU_MEMORY: [&str; 6] = [
    "cuda out of memory",
    "cuda error: out of memory",
    "cuda_error_out_of_memory",
    "cudaerrormemoryallocation",
    "hip out of memory",
    "resource_exhausted: out of memory while trying to allocate",
];
/// TensorFlow's, which names the device after it.
const TENSOR_MEMORY: &str = "OOM when allocating tensor";

/// The errors that ended a canary, the last first.
pub(super) struct Errors {
    lines: Vec<String>,
    /// Whether TensorFlow had no GPU memory for a tensor.
    has_lost_tensor: bool,
}

impl Errors {
    /// Of what the script gave as its reason and of the end of its log. An error that was dealt with is none.
    pub(super) fn of(said: Option<&str>, log_tail: &[String]) -> Self {
        let said: Vec<&str> = said.unwrap_or_default().lines().map(cut).collect();
        let said = &said[said.len().saturating_sub(LINES)..];
        let last = said.iter().rev().find(|line| !line.trim().is_empty());
        let mut lines = Vec::from_iter(last.map(|line| line.trim().to_owned()));
        let mut has_lost_tensor = false;
        for part in std::iter::once(said.to_vec()).chain(parts(log_tail)) {
            let words = last_words(&part);
            has_lost_tensor |= words.iter().any(|line| is_lost_tensor(line));
            for line in uncaught(words) {
                if !lines.iter().any(|known| known == line) {
                    lines.push(line.to_owned());
                }
            }
        }
        Self {
            lines,
            has_lost_tensor,
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Those that say that a file is not there.
    pub(super) fn about_files(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|line| {
            let lower = line.to_ascii_lowercase();
            let says_so = NO_FILE.iter().any(|words| lower.contains(words));
            let is_tool =
                lower.ends_with("no such file or directory") || lower.ends_with("no such file");
            says_so && (is_tool || is_exception(line))
        })
    }

    pub(super) fn are_about_gpu_memory(&self) -> bool {
        let says_so = |line: &str| {
            let lower = line.to_ascii_lowercase();
            is_exception(line) && GPU_MEMORY.iter().any(|words| lower.contains(words))
        };
        self.has_lost_tensor || self.all().any(says_so)
    }
}

/// The log by what printed it: host and stream, of which the lines of one stand together.
fn parts(log_tail: &[String]) -> Vec<Vec<&str>> {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in log_tail {
        let (printed_by, line) = split_source(cut(line));
        match parts.last_mut() {
            Some((known, lines)) if *known == printed_by => lines.push(line),
            _ => parts.push((printed_by, vec![line])),
        }
    }
    parts.into_iter().map(|(_, lines)| lines).collect()
}

/// `algo-1 stderr: `, which the gate writes, and `[rank0]: `, which torchrun does, apart from what was printed.
fn split_source(line: &str) -> (&str, &str) {
    let mut rest = line;
    if let Some(host) = rest.strip_prefix("algo-") {
        let number = host.trim_start_matches(|c: char| c.is_ascii_digit());
        rest = number
            .strip_prefix(' ')
            .filter(|_| number.len() < host.len())
            .unwrap_or(rest);
    }
    for stream in ["stdout: ", "stderr: "] {
        rest = rest.strip_prefix(stream).unwrap_or(rest);
    }
    let ranked = rest.strip_prefix("[rank");
    if let Some((_, said)) = ranked.and_then(|rank| rank.split_once("]: ")) {
        rest = said;
    }
    (&line[..line.len() - rest.len()], rest)
}

/// The error of the traceback that ended the program, and those that led to it; `words` are its last.
fn uncaught<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let ends = (0..words.len()).filter(|index| ends_traceback(words, *index));
    let mut below = words.len();
    // One that did not lead to the one below it was dealt with.
    let error = |end: usize| {
        let mut between = words[end + 1..below].iter();
        let belongs = match below == words.len() {
            true => between.all(|line| is_afterwards(line)),
            false => between.any(|line| LEADS_TO.contains(&line.trim())),
        };
        below = end;
        belongs.then(|| words[end].trim_end())
    };
    ends.rev().map_while(error).collect()
}

/// From the last traceback on, and from those that led to it; all where there is none.
///
/// TensorFlow's errors have many lines, of which the last of the traceback is not the one that says what happened.
fn last_words<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let mut above = lines;
    while let Some(index) = above.iter().rposition(|line| line.trim() == TRACEBACK) {
        above = &lines[..index];
        let before = above.iter().rfind(|line| !line.trim().is_empty());
        if !before.is_some_and(|line| LEADS_TO.contains(&line.trim())) {
            return &lines[index..];
        }
    }
    lines
}

/// Whether the line is the last of a traceback: not indented, after indented lines of which one names a place in a file.
fn ends_traceback(lines: &[&str], index: usize) -> bool {
    let is_indented = |line: &&&str| line.starts_with("  ");
    let above = lines[..index].iter().rev().take_while(is_indented);
    !lines[index].is_empty()
        && !lines[index].starts_with(char::is_whitespace)
        && above.into_iter().any(|line| line.starts_with("  File \""))
}

fn is_afterwards(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line == "\"\"\"" || AFTERWARDS.iter().any(|words| line.contains(words))
}

fn is_lost_tensor(line: &str) -> bool {
    let of_gpu = |place: usize| line[place..].contains("device:GPU");
    let begins = line.starts_with(TENSOR_MEMORY) || is_exception(line);
    begins && line.find(TENSOR_MEMORY).is_some_and(of_gpu)
}

/// `KeyError: 'age'`, `torch.cuda.OutOfMemoryError: CUDA out of memory`.
fn is_exception(line: &str) -> bool {
    let class = line.split_once(':').map_or(line, |(class, _)| class);
    let name = class.rsplit('.').next().unwrap_or(class);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    class.chars().all(is_word) && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// The module that Python says it does not have: `No module named 'x'`, `Missing optional dependency 'x'`.
pub(super) fn missing_module(line: &str) -> Option<&str> {
    // `python3 -m x` names itself first.
    let is_interpreter = || {
        let program = line.split_once(": ").map_or("", |(program, _)| program);
        let program = program.rsplit('/').next().unwrap_or(program);
        program.starts_with("python") && !program.contains(char::is_whitespace)
    };
    if !is_exception(line) && !is_interpreter() {
        return None;
    }
    let words = ["No module named ", "Missing optional dependency "];
    let (_, rest) = words.iter().find_map(|words| line.split_once(words))?;
    let rest = rest.trim_start_matches(['\'', '"']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')));
    let module = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    (!module.is_empty() && module.len() <= NAME).then_some(module)
}

/// The program that a shell did not find: `sh: 1: x: not found`, `bash: x: command not found`.
pub(super) fn missing_program(line: &str) -> Option<&str> {
    let endings = [
        ": command not found",
        ": not found",
        ": No such file or directory",
    ];
    let line = line.trim_end();
    let before = endings.iter().find_map(|end| line.strip_suffix(end))?;
    let program = before.rsplit(": ").next()?;
    (!program.is_empty()).then_some(program)
}

/// The name in `$SM_NAME` or `${SM_NAME}`.
pub(super) fn variable(text: &str) -> Option<&str> {
    let (_, rest) = text
        .split_once("$SM_")
        .map_or_else(|| text.split_once("${SM_"), Some)?;
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let start = text.len() - rest.len() - "SM_".len();
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let name = &text[start..text.len() - rest.len() + end];
    (end > 0 && name.len() <= NAME).then_some(name)
}

/// What may be a path in an error: what is quoted, and words.
pub(super) fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = ['\'', '"'].into_iter().flat_map(|quote| {
        let inner = line.split(quote).skip(1).step_by(2);
        inner.filter(|text| !text.is_empty())
    });
    let words =
        line.split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '(' | ')' | ','));
    let words = words.map(|word| word.trim_end_matches([':', '.']));
    let words = words.filter(|word| word.contains('/'));
    quoted.take(PATHS).chain(words.take(PATHS))
}

/// A path without what leads to the checkout, or to the copy of it that a canary has.
pub(super) fn in_checkout(path: &str) -> &str {
    let mut path = match path.split_once("/.canary-gate/") {
        Some((_, rest)) => rest.split_once("/code/").map_or(path, |(_, rest)| rest),
        None => path.strip_prefix("/opt/ml/code/").unwrap_or(path),
    };
    while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix("../")) {
        path = rest;
    }
    path.trim_end_matches('/')
}

/// What follows a folder in a path, or nothing for the folder itself; `None` elsewhere.
pub(super) fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    match rest.is_empty() {
        true => Some(rest),
        false => rest.strip_prefix('/'),
    }
}

/// What follows the home folder that a canary has on this machine.
pub(super) fn in_home(path: &str) -> Option<&str> {
    let (_, below) = path.split_once("/.canary-gate/work/")?;
    below.splitn(3, '/').nth(2)?.strip_prefix("home/")
}

/// The argument that argparse or click wants: `--data` of `-d/--data`, or the name of one without dashes.
pub(super) fn required_argument(line: &str) -> Option<&str> {
    let words = [
        "arguments are required: ",
        "Missing option '",
        "Missing argument '",
    ];
    let (_, rest) = words.iter().find_map(|words| line.split_once(words))?;
    let name = rest.split([',', '\'', ' ', '=']).next()?;
    name.rsplit('/').next().filter(|name| is_plain(name))
}

/// What Python says of an index that there is no word for.
pub(super) fn missing_word(line: &str) -> Option<&str> {
    line.starts_with("IndexError").then_some("sys.argv[1]")
}

/// The key of a `KeyError: 'DATA_DIR'` that may be a variable of the environment.
pub(super) fn missing_variable(line: &str) -> Option<&str> {
    let name = line.strip_prefix("KeyError: '")?.strip_suffix('\'')?;
    let is_sign = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (is_plain(name) && name.chars().all(is_sign)).then_some(name)
}

/// Whether a name is short, of plain characters.
pub(super) fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    !name.is_empty() && name.len() <= NAME && name.chars().all(is_plain)
}

/// A short name of plain characters in backticks, else `otherwise`.
pub(super) fn quoted(name: &str, otherwise: &str) -> String {
    match is_plain(name) {
        true => format!("`{name}`"),
        false => otherwise.to_owned(),
    }
}

/// The beginning of a line.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE)]
}
