//! The draft of what a checkout holds: of a job on this machine, or of one on SageMaker. Where images, roles and data are, AWS knows
//! and the checkout does not: these are for the user to fill in.

use super::data::{FEWEST_FILES, FoundData, folder_of, name_of};
use super::found::{FoundOption, FoundScript, Overview, path_of};
use super::text::masked;
use crate::grammar::joined;
use crate::secret;
use crate::spec::page::{FILL_IN, filled};
use crate::spec::{self, cure, yaml_text as yaml};
use crate::workspace::written_spec;

/// The longest name of a job of which SageMaker takes the names of canaries, in characters.
const LONGEST_NAME: usize = 40;
/// The most other candidates that are named.
const MOST_NAMED: usize = 5;
/// The most channels beside the first, of a script that reads none by its variable.
const MOST_OTHERS: usize = 9;

/// The likeliest of what was found, as a valid spec, and what it is from; the manual's example where there is nothing.
pub(super) fn drafted(overview: &Overview) -> (String, String) {
    let launch = overview.launches.first().map(String::as_str);
    let image = overview.containers.first().map(String::as_str);
    let script = overview.scripts.first();
    // A script that nothing starts is further from the training job than an image.
    let launch = launch.filter(|_| script.is_some() || image.is_none());
    let tries = [
        launch.map(|place| (Some(place), script)),
        image.map(|place| (Some(place), None)),
        script.map(|script| (None, Some(script))),
    ];
    let found = tries.into_iter().flatten().find_map(|(place, script)| {
        let path = script.map_or(place.map_or("", path_of), |script| &script.path);
        let text = draft(overview, place, script, path);
        let is_valid = written_spec::parse("canary-gate.yml", text.as_bytes()).is_ok();
        is_valid.then(|| (text, path.to_owned()))
    });
    found.unwrap_or_else(|| {
        let template = spec::init_template();
        let text = format!(
            "# Nothing that trains was found: no script that says so or that the project starts, no Dockerfile, no Estimator, ModelTrainer or create_training_job.\n# This is the example of the manual; replace all of it.\n{template}"
        );
        (text, "the manual's example, since nothing that trains was found".to_owned())
    })
}

/// Text from the checkout, behind a `#`.
fn comment(text: &str) -> String {
    yaml::remark(&masked(text))
}

/// The draft from the place that makes training jobs of SageMaker, without one of a job here, and the script that it most likely starts;
/// `path` is that of the script, else of the place.
fn draft(
    overview: &Overview,
    place: Option<&str>,
    script: Option<&FoundScript>,
    path: &str,
) -> String {
    let is_here = place.is_none();
    let from = script.map_or(place.unwrap_or_default(), |script| &script.why);
    let channels = drafted_channels(overview, script);
    let command = |script| command(overview, script, &channels);
    let (template, program) = match place {
        Some(_) => (include_str!("sagemaker.yml"), script.map(entry_point)),
        None => (include_str!("local.yml"), script.map(command)),
    };
    let hyperparameters = script.map(|script| hyperparameters(script, &channels));
    let here = script.filter(|_| is_here);
    let work = here.and_then(|script| work(script, &channels));
    let channel_lines = channel_lines(&channels, is_here, work.is_some());
    let values = [
        ("from", comment(&format!("{path} ({from})"))),
        ("found", also_found(overview, path)),
        ("job", yaml::text(&name_of_job(path))),
        ("program", program.unwrap_or_default()),
        ("hyperparameters", hyperparameters.unwrap_or_default()),
        ("channels", channel_lines),
        ("work", work.unwrap_or_default()),
    ];
    filled(template, &values)
}

/// Remarks on what else was found, beside what is used.
fn also_found(overview: &Overview, chosen: &str) -> String {
    let launch = overview.launches.first().map(|place| {
        format!("Training jobs are started at {place}: `canary-gate init --from-job NAME` writes the spec of one.")
    });
    let scripts = overview.scripts.iter().map(|script| script.path.as_str());
    let containers = overview.containers.iter().map(|place| path_of(place));
    let others = scripts.chain(containers).filter(|other| *other != chosen);
    let others = joined(others.take(MOST_NAMED), ", ");
    let others = (!others.is_empty()).then(|| format!("Also found, and not used: {others}."));
    let line = |remark: String| format!("# {}\n", comment(&remark));
    launch.into_iter().chain(others).map(line).collect()
}

/// A job's name from its script's path; `train` where nothing of it can be one.
fn name_of_job(path: &str) -> String {
    let name = name_of(path);
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let folder = name_of(folder_of(path));
    // `src/models/train.py`: its name says nothing that a job's does not.
    let says_nothing = matches!(stem, "train" | "main" | "run" | "Dockerfile")
        && !matches!(folder, "" | "src" | "code" | "scripts");
    let text = if says_nothing { folder } else { stem };
    let text = format!("{text:.LONGEST_NAME$}").to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "train".to_owned(),
        false => words.join("-"),
    }
}

/// The script of a job on SageMaker.
fn entry_point(script: &FoundScript) -> String {
    let folder = Some(folder_of(&script.path)).filter(|folder| !folder.is_empty());
    let source = guessed("source_dir", folder.unwrap_or("."), &script.why);
    source + &guessed("entry_point", name_of(&script.path), &script.why)
}

/// A line of `training`.
fn guessed(key: &str, value: &str, why: &str) -> String {
    let (value, why) = (yaml::text(value), comment(why));
    format!("      {key}: {value}    # guess: {why}\n")
}

/// `[python3, train.py]`, with what the project writes behind it. What no variable and no option leads the script to is linked to where
/// it reads it, from the folder that the project starts it in or that it names all of that from.
fn command(overview: &Overview, script: &FoundScript, channels: &[DraftedChannel<'_>]) -> String {
    let start = &script.start;
    let lost = channels.iter().filter(|channel| channel.option.is_none());
    let lost = lost.filter_map(|one| Some((one.name.as_str(), one.data?)));
    let lost = Vec::from_iter(lost.filter(|_| script.channels.is_empty()));
    let from_own = |(_, data): &(&str, &FoundData)| script.names_from_its_folder(&data.path);
    let is_from_own = script.leaves_its_folder || !lost.is_empty() && lost.iter().all(from_own);
    let folder = match start.is_module {
        true => "",
        false if start.program.is_empty() && is_from_own => folder_of(&script.path),
        false => &start.folder,
    };
    let python = overview.python.as_deref().unwrap_or("python3");
    let mut written = [folder, &script.path, python].into_iter();
    let is_for_a_shell = start.is_given || written.all(cure::is_plain) && !folder.starts_with('-');
    let folder = if is_for_a_shell { folder } else { "" };
    let mut words = Vec::new();
    if start.is_module && !start.folder.is_empty() {
        words = vec!["env".to_owned(), format!("PYTHONPATH={}", start.folder)];
    }
    if start.is_module {
        words.extend([python, "-m", &start.program.replace('/', ".")].map(str::to_owned));
    } else if !start.is_given {
        words.extend([python.to_owned(), from_folder(folder, &script.path)]);
    }
    words.extend_from_slice(&start.arguments);
    let mut said = start.why.clone();
    if overview.python.is_some() && !start.is_given {
        said += "; guess: the virtual environment, which is on this machine alone";
    }
    let place = |data| from_folder(folder, &place_of(data));
    let links = lost.iter();
    let links = links.filter_map(|(name, data)| cure::link(name, &place(data)));
    let links = links.collect::<String>();
    if !links.is_empty() {
        said += "; it reads no SM_CHANNEL_*, so the sample is linked to where the data lie";
    }
    let words = cure::behind(folder, &links, &words).unwrap_or(words);
    let (words, said) = (yaml::list(&words), comment(&said));
    format!("      command: {words}    # {said}\n")
}

/// A path in the checkout, as it is written from a folder of that.
fn from_folder(folder: &str, path: &str) -> String {
    let above = folder.split('/').filter(|part| !part.is_empty());
    let below = path.strip_prefix(&format!("{folder}/"));
    below.map_or_else(|| "../".repeat(above.count()) + path, str::to_owned)
}

/// The options that lead the script to its channels, and the one that `work` changes. Others with a number for a default are remarks:
/// handed over, the number would hide a change of the default. What may be a secret is left out.
fn hyperparameters(script: &FoundScript, channels: &[DraftedChannel<'_>]) -> String {
    let rounds = rounds(script, channels).map(|(option, _)| option);
    let leads = channels.iter().filter_map(|channel| {
        let option = channel.option?;
        let data = channel.data.map_or_else(String::new, place_of);
        let path = cure::channel_path(&channel.name, &data);
        hyperparameter(option, &path, "guess: its channel, in place of what stands")
    });
    let is_lead = |one: &FoundOption| {
        let options = channels.iter().filter_map(|channel| channel.option);
        (options.chain(rounds)).any(|option| std::ptr::eq(option, one))
    };
    // What `work` changes has a value of the full run.
    let of_work = rounds.and_then(|one| hyperparameter(one, one.number()?, "the default"));
    let leads = leads.chain(of_work);
    let in_command = |one: &FoundOption| one.place == script.start.place;
    let others = script.options.iter();
    let others = others.filter(|one| !is_lead(one) && !in_command(one));
    let others = others.filter_map(|one| hyperparameter(one, one.number()?, "the default"));
    let (leads, others) = (Vec::from_iter(leads), Vec::from_iter(others));
    let (key, remark) = match leads.is_empty() {
        true => ("# hyperparameters:", "      #   "),
        false => ("hyperparameters:", "        # "),
    };
    if leads.is_empty() && others.is_empty() {
        return String::new();
    }
    let leads = leads.iter().map(|line| format!("        {line}\n"));
    let others = others.iter().map(|line| format!("{remark}{line}\n"));
    let lines: String = leads.chain(others).collect();
    format!(
        "      # Handed over as SageMaker does: --epochs 10. A value here counts in place of the script's default, also once that changes.\n      {key}\n{lines}"
    )
}

/// The line of an option; `None` where it may be a secret.
fn hyperparameter(option: &FoundOption, value: &str, what: &str) -> Option<String> {
    let name = &option.name;
    let set = format!("{name}={value}");
    let is_open = !secret::is_named_so(name) && masked(&set) == set;
    let (name, value) = (yaml::text(name), yaml::text_or_number(value));
    let said = comment(&format!("{what} at {}", option.place));
    is_open.then(|| format!("{name}: {value}    # {said}"))
}

/// The path of data, which ends with `/` where they are a folder: its name may be like a file's, as `train.parquet`.
fn place_of(data: &FoundData) -> String {
    let end = if data.is_file() { "" } else { "/" };
    format!("{}{end}", data.path)
}

/// Less work in canaries, where no share is drawn of their data.
fn work(script: &FoundScript, channels: &[DraftedChannel<'_>]) -> Option<String> {
    let (option, full) = rounds(script, channels)?;
    let (name, some) = (yaml::text(&option.name), full.div_ceil(4));
    Some(format!(
        "    # No share is drawn of such data, so canaries do less work.\n    work: {{hyperparameter: {name}, full: {full}, canary: [{}, {some}]}}    # guess\n\n",
        some.div_ceil(3)
    ))
}

/// The option that says how much work it is, where no share is drawn, and its default.
fn rounds<'a>(
    script: &'a FoundScript,
    channels: &[DraftedChannel<'_>],
) -> Option<(&'a FoundOption, u32)> {
    let data = channels.first().and_then(|channel| channel.data);
    let is_undrawn =
        |data: &FoundData| data.belongs_together || data.files < FEWEST_FILES && !data.has_rows();
    if !channels.is_empty() && !data.is_some_and(is_undrawn) {
        return None;
    }
    script.options.iter().find_map(|option| {
        let is_rounds = |word: &str| option.name.to_lowercase().contains(word);
        let full = option.number()?.parse::<u32>().ok();
        let full = full.filter(|full| *full >= 4)?;
        let mut words = ["epoch", "round", "iter", "steps"].into_iter();
        words.any(is_rounds).then_some((option, full))
    })
}

/// A channel of the draft.
struct DraftedChannel<'a> {
    name: String,
    /// In the checkout.
    data: Option<&'a FoundData>,
    /// What leads the script to it, unless its variable does.
    option: Option<&'a FoundOption>,
    /// Whether every canary gets all of it.
    is_whole: bool,
}

/// A channel for each whose variable the script reads, else for each of the data that it names, of which the first is sampled; none
/// where it opened no data, and how much work it does is known.
fn drafted_channels<'a>(
    overview: &'a Overview,
    script: Option<&'a FoundScript>,
) -> Vec<DraftedChannel<'a>> {
    let names = script.map_or(&[][..], |script| &script.channels);
    let options = script.map_or(&[][..], |script| &script.options);
    // What was watched and opened no data does some work all the same.
    let is_alone = overview.data.is_empty() && names.is_empty();
    let watched = script.filter(|script| script.start.is_given && is_alone);
    if watched.and_then(|script| rounds(script, &[])).is_some() {
        return Vec::new();
    }
    let mut free: Vec<&FoundData> = overview.data.iter().collect();
    let mut found = Vec::new();
    for name in names {
        let is_training = names.len() == 1 || name.starts_with("train");
        let data = data_for(&free, script, name, is_training);
        free.retain(|other| data.is_none_or(|data| data.path != other.path));
        found.push((name.clone(), data));
    }
    if names.is_empty() {
        let is_read = |data: &FoundData| script.is_some_and(|script| script.names(&data.path));
        free.retain(|data| data.is_opened || is_read(data));
        let first = free.first().copied().or(overview.data.first());
        found.push(("train".to_owned(), first));
        for data in free.into_iter().skip(1).take(MOST_OTHERS) {
            let names = [data.name(), &data.path.replace('/', "-")].map(name_of_job);
            let is_new = |name: &String| found.iter().all(|(known, _)| known != name);
            let name = names.into_iter().find(is_new);
            found.extend(name.map(|name| (name, Some(data))));
        }
    }
    let channel = |(place, (name, data)): (usize, (String, Option<&'a FoundData>))| {
        let mut whole = ["test", "val", "eval", "dev"].iter();
        let leads = |option: &&FoundOption| {
            let path = data.map_or("", |data| &data.path);
            (place == 0 || option.default.is_some()) && option.leads_to(path)
        };
        DraftedChannel {
            is_whole: (names.is_empty() && place > 0) || whole.any(|known| name.starts_with(known)),
            option: options.iter().filter(|_| names.is_empty()).find(leads),
            name,
            data,
        }
    };
    found.into_iter().enumerate().map(channel).collect()
}

fn channel_lines(channels: &[DraftedChannel<'_>], is_here: bool, differs_in_work: bool) -> String {
    if channels.is_empty() {
        return "        {}    # seen: the command opened no data\n".to_owned();
    }
    let mut text = String::new();
    for channel in channels {
        let (name, data) = (&channel.name, channel.data.filter(|_| is_here));
        let (uri, said) = match data {
            Some(data) => (data.path.clone(), data.said()),
            None if is_here => (
                format!("data/{name}"),
                "no data was found for it; a folder with at least 10 files, better 100".to_owned(),
            ),
            None => (
                format!("s3://my-bucket/{FILL_IN}/{name}/"),
                "where the data lie".to_owned(),
            ),
        };
        let has_rows = data.is_some_and(|data| data.files < FEWEST_FILES && data.has_rows());
        let is_whole = channel.is_whole || differs_in_work;
        let always = data.filter(|data| !is_whole && !data.always.is_empty());
        let always = always.map(|data| format!(", always: {}", yaml::list(&data.always)));
        let always = always.unwrap_or_default();
        let (sample, why) = match (is_whole, has_rows) {
            (true, _) => (", sample: false", ", whole in every canary"),
            (false, true) => (", sample: rows", ", so rows of them are drawn"),
            (false, false) if data.is_some_and(|data| data.is_by_folder) => {
                (", by: folder", ", some of each folder")
            }
            (false, false) => ("", ""),
        };
        let (name, uri) = (yaml::text(name), yaml::text(&uri));
        let seen = data.filter(|data| data.is_opened && !data.is_guessed);
        let how = seen.map_or("guess", |_| "seen");
        let said = comment(&format!("{how}: {said}{why}"));
        text += &format!("        {name}: {{uri: {uri}{sample}{always}}}    # {said}\n");
    }
    text
}

/// The data that a channel most likely has: what the script reads, what has its name, or for training the likeliest of all.
fn data_for<'a>(
    free: &[&'a FoundData],
    script: Option<&FoundScript>,
    name: &str,
    is_training: bool,
) -> Option<&'a FoundData> {
    let is_read = |data: &&FoundData| script.is_some_and(|script| script.names(&data.path));
    // `training` is `train`, `val` is `validation`.
    let stem = name.get(..3).unwrap_or(name);
    let is_named = |data: &&FoundData| data.name().to_lowercase().starts_with(stem);
    let mut all = free.iter().copied();
    let found = all.clone().find(is_read).or_else(|| all.find(is_named));
    found.or(free.first().copied().filter(|_| is_training))
}
