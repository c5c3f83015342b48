//! How what a canary printed ends: the lines in which an error is named.

use crate::grammar::{distinct, pattern};
use crate::measurement::printed_figures::{OutputReader, Sought};
use crate::units::Seconds;

/// More of a line is not looked at.
const LINE: usize = 2_000;
/// Lines of a part of the log.
const LINES: usize = 200;
/// Paths of a line.
const PATHS: usize = 8;
/// The lines of an error's message that are not indented. torchrun's has the most, one more for each rank.
const MESSAGE: usize = 15;

/// Functions that find a pattern in a text: the pattern's group, or all that it matches.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)+) => {$(
        $(#[$doc])*
        pub(super) fn $name(text: &str) -> Option<&str> {
            let found = pattern!($pattern).captures(text)?;
            found.iter().flatten().last().map(|found| found.as_str())
        }
    )+};
}

patterns! {
    /// `algo-1 stderr: `, which the gate writes, and `[rank0]: `, which torchrun does, before what was printed.
    printed_by = r"^(?:algo-[0-9]+ (?:of group [^ ]+ )?)?(?:stdout: )?(?:stderr: )?(?:\[rank.*?\]: )?";
    /// `KeyError: 'age'`, `torch.cuda.OutOfMemoryError: CUDA out of memory`.
    exception = r"^[A-Za-z0-9_.]*(?:Error|Exception)(?::|$)";
    /// What Python prints before the places of an error, below a bar on the same line.
    traceback = r"Traceback \(most recent call last\):\s*$";
    /// What Python prints between an error and the one that it led to.
    leads_to = "^\\s*(?:The above exception was the direct cause of the following exception|\
        During handling of the above exception, another exception occurred):\\s*$";
    /// What others print after a traceback that ended the program, and what an error goes on with.
    afterwards = "^\\t|^\\s*(?:\"{3}\\s*)?$|sagemaker-training-toolkit|sagemaker_training|ExecuteUserScriptError|ExitCode |ErrorMessage |\
        Command \"|canary-gate|CUDA kernel errors might|For debugging consider passing CUDA_LAUNCH_BLOCKING|\
        Compile with `TORCH_USE_CUDA_DSA`|^ +\\+-|^  \\|   |^    +\\|";
    /// What a program that goes on says: a figure or a line of a log.
    goes_on = r"(?:^|[^0-9.])[0-9]+\.[0-9]+%?$|(?:^|[^A-Z])(?:DEBUG|INFO)(?:[^A-Z]|$)";
    /// What Python prints before the traceback of an error that ends no program, and the place of the like.
    apart = r"^(?:Exception ignored|Error in atexit|Exception in thread|future: <)|/resource_tracker\.py.*, in main$";
    /// What a shell says of a command that it could not start, and Python of a script.
    not_started = r"^(?:[^ :]*sh: [0-9]+|[^ :]+: line [0-9]+|[^ :]*python[0-9.]*|env): .*(?:not found|No such file or directory|Permission denied)$";
    /// What a shell says of a command that a signal ended, C++ of an exception that nothing caught, and Python of several.
    unhandled = "^(?:[^ :]+: line [0-9]+: +[0-9]+ )?(?:Killed|Segmentation fault|Aborted|Bus error|Illegal instruction|\
        Floating point exception)(?: \\(core dumped\\))?(?:  .*)?$|^terminate called |^what\\(\\):|^[A-Za-z0-9_.]*ExceptionGroup: ";
    /// The host that printed a line of several, and the stream.
    of_stream = "^(?:algo-[0-9]+ (?:of group [^ ]+ )?)?(?:stdout: |stderr: )?";
    /// What make, just, dvc and npm say of a program that failed.
    of_launcher = r"^(?:make(?:\[[0-9]+\])?: \*\*\*|error: Recipe |ERROR: failed to reproduce|npm (?:ERR!|error))";
    /// A folder of a path and the step back out of it: `train/../`.
    and_back = r#"(?:^|[/\s'"])([^/\s'"$]*[^./\s'"$][^/\s'"$]*/\.\./)"#;
    /// What a program says of a file.
    no_file = "(?i)no such file|not found|does not exist|could not open|no such device or address";
    /// What a shell or a tool says of a file.
    tool_without_file = "(?i)no such (?:file(?: or directory)?|device or address)$";
    /// What PyTorch, JAX and TensorFlow say.
    gpu_memory = "(?i)cuda out of memory|cuda error: out of memory|cuda_error_out_of_memory|cudaerrormemoryallocation|\
        hip out of memory|resource_exhausted: out of memory while trying to allocate";
    /// TensorFlow's, which names the device after it.
    tensor_memory = "OOM when allocating tensor.*device:GPU";
    /// The module that Python says it does not have: `No module named 'x'`, `Missing optional dependency 'x'`. `python3 -m x` names
    /// itself first.
    missing_module = concat!(
        r"^(?:[A-Za-z0-9_.]*(?:Error|Exception)|(?:[^:]*/)?python[^\s/:]*):.*?(?:No module named |Missing optional dependency )",
        r#"['"]*([A-Za-z0-9_.-]{0,59}[A-Za-z0-9_-])\.*(?:[^A-Za-z0-9_.-]|$)"#,
    );
    /// The program that a shell did not find: `sh: 1: x: not found`, `bash: x: command not found`.
    missing_program = r"^(?:.*: )?(.+?): (?:command not found|not found|No such file or directory)\s*$";
    /// The name in `$SM_NAME` or `${SM_NAME}`.
    variable = r"\$\{?(SM_[A-Z0-9_]{1,57})(?:[^A-Z0-9_]|$)";
    /// What follows the home folder that a canary has on this machine.
    in_home = r"/\.canary-gate/work/[^/]*/[^/]*/home/(.*)";
    /// The argument that argparse or click wants: `--data` of `-d/--data`, or the name of one without dashes.
    required_argument = "(?:arguments are required: |Missing option '|Missing argument ')(?:[^,' =]*/)?([A-Za-z0-9_.-]{1,60})(?:[,' =]|$)";
    /// The key of a `KeyError: 'DATA_DIR'` that may be a variable of the environment.
    missing_variable = "^KeyError: '([A-Z0-9_]{1,60})'$";
    /// The place of an error in a look at the environment. The line that looked may be masked.
    of_environment = r#"environ|File "(?:<frozen os>|.*/os\.py)", line"#;
    /// What the name of an option or a variable ends with that leads to data.
    data_name = "(?i)(?:data(?:set)?|train(?:ing)?|input|image|dir(?:ectory)?|path|folder|file|root|csv|location)s?$";
    /// What is in the name of one that leads elsewhere.
    other_name = "(?i)out|model|log|save|check|cache|config|result";
    /// A short name of plain characters.
    plain = "^[A-Za-z0-9_./-]{1,60}$";
}

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
        let mut parts = parts(log_tail);
        parts.insert(0, said.to_vec());
        // What a launcher says has its reason above it, in the log.
        let lines = parts.iter().flat_map(|part| part.iter().rev());
        let mut lines = lines.map(|line| line.trim());
        let last = lines.find(|line| !line.is_empty() && of_launcher(line).is_none());
        let last = last.filter(|_| !said.is_empty());
        let mut words = parts.iter().map(|part| last_words(part));
        let lines = distinct(last.into_iter().chain(words.clone().flat_map(uncaught)));
        Self {
            lines: lines.into_iter().map(folded).collect(),
            has_lost_tensor: words.any(|words| words.iter().any(|line| is_lost_tensor(line))),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Those that say that a file is not there.
    pub(super) fn about_files(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|line| {
            let is_said = tool_without_file(line).or_else(|| exception(line));
            no_file(line).and(is_said).is_some()
        })
    }

    pub(super) fn are_about_gpu_memory(&self) -> bool {
        let says_so = |line: &str| exception(line).and(gpu_memory(line)).is_some();
        self.has_lost_tensor || self.all().any(says_so)
    }
}

/// The log by what printed it: host and stream, of which the lines of one stand together.
fn parts<'a>(log_tail: &'a [String]) -> Vec<Vec<&'a str>> {
    let lines = log_tail.iter().map(|line| cut(line));
    let lines = lines.map(|line| line.split_at(printed_by(line).map_or(0, str::len)));
    let lines = Vec::from_iter(lines);
    let parts = lines.chunk_by(|(by, _), (other, _)| by == other);
    let lines_of = |part: &[(_, &'a str)]| part.iter().map(|(_, line)| *line).collect();
    parts.map(lines_of).collect()
}

/// The error of the traceback that ended the program, and those that led to it; `words` are its last.
fn uncaught<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let ends = (0..words.len()).filter(|index| ends_traceback(words, *index));
    let mut below = words.len();
    // One that did not lead to the one below it was dealt with.
    let error = |end: usize| {
        let mut between = words[end + 1..below].iter();
        let belongs = match below == words.len() {
            true => between.all(|line| afterwards(line).or_else(|| of_launcher(line)).is_some()),
            false => between.any(|line| leads_to(line).is_some()),
        };
        below = end;
        belongs.then(|| words[end].trim_end())
    };
    ends.rev().map_while(error).collect()
}

/// The error that a host's program printed last on a stream: nothing but its message and noise follow it.
pub(super) fn last_error<'a>(log_tail: &'a [String], sought: &Sought) -> Option<&'a str> {
    let mut streams = log_tail.chunk_by(|line, next| of_stream(line) == of_stream(next));
    streams.find_map(|lines| {
        let parts = parts(lines);
        let lines = parts.last()?;
        let words = last_words(lines);
        let end = (0..words.len()).rfind(|index| ends_traceback(words, *index));
        let end = end.filter(|_| traceback(words[0]).is_some());
        let error = end.map(|end| words[end].trim_end());
        let is_last = end.is_some_and(|end| is_message(&words[end + 1..], sought));
        let found = error_of_one_line(lines).or(error.filter(|_| is_last))?;
        // What stands around the first line of a traceback says where it ended no program.
        let above = &lines[..lines.len() - words.len()];
        let mut around = above.last().into_iter().chain(words.get(1));
        let ends_nothing = error == Some(found) && around.any(|line| apart(line).is_some());
        (!ends_nothing).then_some(found)
    })
}

/// The last line that is no noise, where it tells of an error without a traceback.
fn error_of_one_line<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let is_said = |line: &&&str| afterwards(line).is_none();
    let last = lines.iter().rfind(is_said)?.trim().trim_start_matches("| ");
    let mistake = missing_module(last).or(required_argument(last));
    (mistake.or(not_started(last)).or(unhandled(last))).map(|_| last)
}

/// Whether what follows an error may be the rest of its message: a few lines, none of which is of a program that goes on.
fn is_message(lines: &[&str], sought: &Sought) -> bool {
    let mut reader = OutputReader::new(sought);
    reader.read(Seconds(0.0), lines.join("\n").as_bytes());
    let is_short = lines.iter().filter(|line| !line.starts_with(' ')).count() <= MESSAGE;
    let may_end = |line: &&str| goes_on(line).is_none() || afterwards(line).is_some();
    is_short && lines.iter().all(may_end) && reader.finish() == OutputReader::new(sought).finish()
}

/// From the last traceback on, and from those that led to it; all where there is none.
///
/// TensorFlow's errors have many lines, of which the last of the traceback is not the one that says what happened.
fn last_words<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let mut above = lines;
    while let Some(index) = above.iter().rposition(|line| traceback(line).is_some()) {
        above = &lines[..index];
        let before = above.iter().rfind(|line| !line.trim().is_empty());
        if before.is_none_or(|line| leads_to(line).is_none()) {
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

fn is_lost_tensor(line: &str) -> bool {
    tensor_memory(line).is_some_and(|lost| exception(line).is_some() || line.starts_with(lost))
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

/// Whether an error is of a file that the probe has covered.
pub(super) fn is_closed(line: &str) -> bool {
    line.contains("No such device or address") && !line.contains("/dev/")
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

/// Whether an option or a variable leads to data by its name.
pub(super) fn is_of_data(name: &str) -> bool {
    data_name(name).is_some() && other_name(name).is_none()
}

/// What Python says of an index that there is no word for.
pub(super) fn missing_word(line: &str) -> Option<&str> {
    line.starts_with("IndexError").then_some("sys.argv[1]")
}

/// A short name of plain characters in backticks, else `otherwise`.
pub(super) fn quoted(name: &str, otherwise: &str) -> String {
    plain(name).map_or(otherwise.to_owned(), |name| format!("`{name}`"))
}

/// The line with paths as short as they can be: `labels.csv` for `train/../labels.csv`.
fn folded(line: &str) -> String {
    let mut line = line.to_owned();
    while let Some(step) = and_back(&line) {
        line = line.replacen(&step.to_owned(), "", 1);
    }
    line
}

/// The beginning of a line.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE)]
}
